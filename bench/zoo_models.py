"""Tiny models of transformers, diffusers and timm with random weights (no download), and toys that show their traits.

`build(name)` returns a `Case`: the model, the calls to make, and the name that a person has for what is called. The
same name gives the same case each time. A name is `library/model`: an architecture of transformers, a class of
diffusers, a model of timm, or a toy of `zoo_toys`.

Sizes of transformers' models are reduced by the names that they have in configurations (`SMALL`); what an
architecture needs beyond that is in `SPECIAL`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Tuple

Compile = Callable[[Any], Any]  # what torch.compile is called with here: a module or a method
Arguments = Dict[str, Any]

_TRANSFORMERS = {
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
KINDS: Dict[str, str] = {name: kind for kind, names in _TRANSFORMERS.items() for name in names.split()}

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
CONVOLUTIONS = {"conv_dim": (16, 16), "conv_stride": (4, 4), "conv_kernel": (8, 4)}
_FOUR_STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
SPECIAL: Dict[str, Dict[str, Any]] = {
    **{name: CONVOLUTIONS for name, kind in KINDS.items() if kind == "audio"},
    "convnext": {**_FOUR_STAGES, "patch_size": 1},
    "convnextv2": {**_FOUR_STAGES, "patch_size": 1},
    "mamba": {"conv_kernel": 4, "state_size": 4},
    "mamba2": {"conv_kernel": 4, "state_size": 4, "num_heads": 8, "head_dim": 8, "n_groups": 2, "expand": 2},
    "poolformer": {**_FOUR_STAGES, "patch_size": 7},
    "regnet": _FOUR_STAGES,
    "resnet": {**_FOUR_STAGES, "embedding_size": 8},
}

TIMM = """
    maxvit_pico_rw_256 resnet18 mobilenetv3_small_050 test_byobnet test_convnext test_efficientnet test_mambaout
    test_nfnet test_resnet test_vit test_vit4
"""


@dataclass(frozen=True)
class Case:
    """A model, `run(compile)`, which compiles it and yields what calls of it return, and the name of what is called."""

    model: Any
    run: Callable[[Compile], Iterator[Any]]
    called: str


def build(name: str) -> Case:
    """Return the case of that name: `library/model`."""
    import torch

    library, _, model_name = name.partition("/")
    torch.manual_seed(0)
    if library == "toys":
        from zoo_toys import TOYS

        return TOYS[model_name]()
    makers: Dict[str, Callable[[str], Tuple[Any, Callable[[int], Arguments]]]] = {
        "transformers": _of_transformers,
        "diffusers": _of_diffusers,
        "timm": _of_timm,
    }
    model, inputs = makers[library](model_name)
    torch.manual_seed(1)
    return two_batches(model.eval(), [inputs(2), inputs(3)])


def two_batches(model: Any, calls: List[Arguments]) -> Case:
    """Return a case that calls the model without gradients: one version, then one more for another size of batch."""
    import torch

    def run(compile_model: Compile) -> Iterator[Any]:
        compiled = compile_model(model)
        for arguments in calls:
            with torch.no_grad():
                yield compiled(**arguments)

    return Case(model, run, f"{type(model).__name__}.forward")


def _of_transformers(name: str) -> Tuple[Any, Callable[[int], Arguments]]:
    import torch
    from transformers import AutoConfig, AutoModel

    defaults = AutoConfig.for_model(name).to_dict()
    sizes = {key: size for key, size in SMALL.items() if key in defaults and _is_a_size(defaults[key])}
    model = AutoModel.from_config(AutoConfig.for_model(name, **{**sizes, **SPECIAL.get(name, {})}))

    def inputs(batch: int) -> Arguments:
        kind = KINDS[name]
        if kind == "image":
            return {"pixel_values": torch.randn(batch, 3, 32, 32)}
        if kind == "audio":
            return {"input_values": torch.randn(batch, 800)}
        tokens = {"input_ids": torch.randint(3, 99, (batch, 16))}
        if kind == "text to text":
            tokens["decoder_input_ids"] = torch.randint(3, 99, (batch, 8))
        return tokens

    return model, inputs


def _is_a_size(default: Any) -> bool:
    return default is None or type(default) is int


def _of_timm(name: str) -> Tuple[Any, Callable[[int], Arguments]]:
    import timm
    import torch

    model = timm.create_model(name, num_classes=10)
    size = model.default_cfg["input_size"]
    return model, lambda batch: {"x": torch.randn(batch, *size)}


_BLOCKS = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}
_ONE_BLOCK = {"num_layers": 1, "num_attention_heads": 2, "attention_head_dim": 8}
_DOWN_UP = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
_CROSS = {
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "cross_attention_dim": 16,
    "attention_head_dim": 4,
}
_ENCODE_DECODE = {
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "latent_channels": 4,
}
DIFFUSERS: Dict[str, Dict[str, Any]] = {
    "UNet2DModel": {**_BLOCKS, **_DOWN_UP, "sample_size": 16, "attention_head_dim": 4},
    "UNet2DConditionModel": {**_BLOCKS, **_CROSS, "sample_size": 16},
    "AutoencoderKL": {**_BLOCKS, **_ENCODE_DECODE},
    "VQModel": {**_BLOCKS, **_ENCODE_DECODE, "num_vq_embeddings": 16},
    "DiTTransformer2DModel": {**_ONE_BLOCK, "in_channels": 4, "sample_size": 8, "norm_num_groups": 4},
    "PixArtTransformer2DModel": {
        **_ONE_BLOCK,
        "in_channels": 4,
        "sample_size": 8,
        "cross_attention_dim": 16,
        "caption_channels": 16,
    },
    "SD3Transformer2DModel": {
        **_ONE_BLOCK,
        "sample_size": 8,
        "in_channels": 4,
        "out_channels": 4,
        "caption_projection_dim": 16,
        "joint_attention_dim": 16,
        "pooled_projection_dim": 16,
    },
    "FluxTransformer2DModel": {
        **_ONE_BLOCK,
        "num_single_layers": 1,
        "in_channels": 4,
        "joint_attention_dim": 16,
        "pooled_projection_dim": 16,
        "axes_dims_rope": (2, 2, 4),
    },
}


def _of_diffusers(name: str) -> Tuple[Any, Callable[[int], Arguments]]:
    import diffusers

    return getattr(diffusers, name)(**DIFFUSERS[name]), lambda batch: diffusers_inputs(name, batch)


def diffusers_inputs(name: str, batch: int) -> Arguments:
    """Return the arguments of a call of a model of that class."""
    import torch

    step = torch.full((batch,), 7)
    text = {"encoder_hidden_states": torch.randn(batch, 6, 16), "timestep": step}
    if name in ("AutoencoderKL", "VQModel"):
        return {"sample": torch.randn(batch, 3, 16, 16)}
    if name == "UNet2DModel":
        return {"sample": torch.randn(batch, 3, 16, 16), "timestep": step}
    if name == "UNet2DConditionModel":
        return {"sample": torch.randn(batch, 4, 16, 16), **text}
    if name == "DiTTransformer2DModel":
        labels = torch.zeros(batch, dtype=torch.long)
        return {"hidden_states": torch.randn(batch, 4, 8, 8), "timestep": step, "class_labels": labels}
    if name == "PixArtTransformer2DModel":
        no_conditions = {"added_cond_kwargs": {"resolution": None, "aspect_ratio": None}}
        return {"hidden_states": torch.randn(batch, 4, 8, 8), **text, **no_conditions}
    text["pooled_projections"] = torch.randn(batch, 16)
    if name == "SD3Transformer2DModel":
        return {"hidden_states": torch.randn(batch, 4, 8, 8), **text}
    places = {"img_ids": torch.randn(16, 3), "txt_ids": torch.randn(6, 3)}
    return {"hidden_states": torch.randn(batch, 16, 4), **text, **places}
