"""Tiny models of many architectures, built from `transformers` configurations with random weights: no download.

`build(name)` returns a model in eval mode and its inputs, the same each time. Sizes are reduced by the names that
they have in configurations (`SMALL`); what an architecture needs beyond that is in `SPECIAL`.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

_NAMES = {
    "text": """
        albert apertus arcee bert big_bird biogpt bitnet bloom codegen cohere cohere2 convbert ctrl deberta deberta-v2
        diffllama distilbert doge electra ernie4_5 ernie4_5_moe esm exaone4 falcon falcon_h1 fnet gemma gemma2
        gemma3_text glm glm4 glm4_moe gpt2 gpt_bigcode gpt_neox gpt_oss gptj granite granitemoe helium ibert jetmoe
        layoutlm lfm2 llama llama4_text longformer mamba mamba2 minimax mistral mixtral mobilebert modernbert mpnet mpt
        nemotron nystromformer olmo olmo2 olmo3 olmoe openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3
        qwen3_moe recurrent_gemma rembert roberta roformer rwkv smollm3 squeezebert stablelm starcoder2 xglm xlnet yoso
    """,
    "text to text": """
        bart bigbird_pegasus blenderbot led longt5 m2m_100 marian mt5 pegasus pegasus_x plbart prophetnet
        switch_transformers t5 umt5
    """,
    "image": """
        beit convnext convnextv2 deit dinov2 dpt glpn mobilenet_v1 mobilenet_v2 poolformer pvt pvt_v2 regnet resnet
        segformer swiftformer vit vit_msn
    """,
    "audio": "data2vec-audio hubert sew unispeech wav2vec2 wavlm",
}
KINDS: Dict[str, str] = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_COUNTS = {
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers "
    "num_encoder_layers num_key_value_heads num_experts_per_tok num_feat_extract_layers",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_experts "
    "num_local_experts n_routed_experts rotary_dim num_conv_pos_embeddings",
    8: "head_dim d_kv sliding_window patch_size",
    16: "num_mel_bins",
    32: "hidden_size d_model n_embd dim embedding_size moe_intermediate_size image_size",
    64: "intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff ffn_dim n_inner hidden_dim max_position_embeddings "
    "n_positions n_ctx",
    100: "vocab_size",
}
SMALL: Dict[str, Any] = {
    **{name: size for size, names in _COUNTS.items() for name in names.split()},
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "num_conv_pos_embedding_groups": 2,
}
_CONVOLUTIONS = {"conv_dim": (16, 16), "conv_stride": (4, 4), "conv_kernel": (8, 4)}
_FOUR_STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
SPECIAL: Dict[str, Dict[str, Any]] = {
    **{name: _CONVOLUTIONS for name, kind in KINDS.items() if kind == "audio"},
    "convnext": {**_FOUR_STAGES, "patch_size": 1},
    "convnextv2": {**_FOUR_STAGES, "patch_size": 1},
    "mamba": {"conv_kernel": 4, "state_size": 4},
    "mamba2": {"conv_kernel": 4, "state_size": 4, "num_heads": 8, "head_dim": 8, "n_groups": 2, "expand": 2},
    "poolformer": {**_FOUR_STAGES, "patch_size": 7},
    "regnet": _FOUR_STAGES,
    "resnet": {**_FOUR_STAGES, "embedding_size": 8},
}


def build(name: str) -> Tuple[Any, Dict[str, Any]]:
    """Return a tiny model of that architecture, and the keyword arguments to call it with."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    defaults = AutoConfig.for_model(name).to_dict()
    sizes = {key: size for key, size in SMALL.items() if key in defaults and _is_a_size(defaults[key])}
    config = AutoConfig.for_model(name, **{**sizes, **SPECIAL.get(name, {})})
    model = AutoModel.from_config(config).eval()
    torch.manual_seed(1)
    return model, _inputs(KINDS[name], torch)


def _is_a_size(default: Any) -> bool:
    return default is None or type(default) is int


def _inputs(kind: str, torch: Any) -> Dict[str, Any]:
    if kind == "image":
        return {"pixel_values": torch.randn(2, 3, 32, 32)}
    if kind == "audio":
        return {"input_values": torch.randn(2, 800)}
    inputs = {"input_ids": torch.randint(3, 99, (2, 16))}
    if kind == "text to text":
        inputs["decoder_input_ids"] = torch.randint(3, 99, (2, 8))
    return inputs
