"""Models of transformers with random weights, built from configurations whose sizes are reduced by name.

`SIZES` is what a configuration gets for an integer of that name, at any depth (a model of images and text has a
configuration for each); lists, such as the widths of stages, keep their length. What an architecture needs beyond that
is in `SPECIAL`. `INPUTS` has one recipe for each kind of arguments; `KINDS` says which architecture takes which.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from bench.gallery.cases import Arguments, Case
from bench.zoo_models import CONVOLUTIONS
from bench.zoo_models import SPECIAL as MODEL_ZOO

_NAMES = {
    1: "num_nextn_predict_layers downsample_rate",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers depth "
    "num_encoder_layers num_key_value_heads num_experts_per_tok num_feat_extract_layers encoder_num_hidden_layers "
    "num_conv_layers moe_topk moe_k num_local_blocks temporal_patch_size tubelet_size",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_experts "
    "num_local_experts n_routed_experts rotary_dim num_conv_pos_embeddings num_frames encoder_num_attention_heads "
    "attention_heads num_codebooks",
    8: "head_dim d_kv sliding_window patch_size kv_lora_rank qk_nope_head_dim v_head_dim mamba_d_head mamba_n_heads "
    "num_queries num_object_queries",
    16: "num_mel_bins q_lora_rank state_size mamba_d_state",
    32: "hidden_size d_model n_embd dim embedding_size moe_intermediate_size image_size projection_dim embed_dim "
    "width embedding_dim encoder_hidden_size decoder_hidden_size qformer_hidden_size shared_expert_intermediate_size "
    "output_dim hidden_channels out_hidden_size",
    64: "intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff ffn_dim n_inner hidden_dim max_position_embeddings "
    "n_positions n_ctx ffn_hidden_size encoder_intermediate_size decoder_intermediate_size dim_feedforward "
    "max_source_positions max_target_positions max_seq_len codebook_size",
    100: "vocab_size entity_vocab_size text_vocab_size",
}
SIZES: Dict[str, Any] = {
    **{name: size for size, names in _NAMES.items() for name in names.split()},
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "num_conv_pos_embedding_groups": 2,
    "qk_rope_head_dim": 4,
}
_ONES = ("depths", "num_blocks", "layers", "num_encoder_blocks_per_stage", "blocks_per_stage", "stage_depths")
_WIDTHS = ("hidden_sizes", "neck_hidden_sizes", "conv_dim", "embed_dims", "channels", "tdnn_dim", "encoder_channels")
_AUDIO = "unispeech-sat wav2vec2-conformer"  # and those of the zoo
_LATENT = "axk2 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa youtu minicpm3"
_HYBRID = "qwen3_5_moe_text qwen3_5_text qwen3_next"
_FOUR_WIDTHS = {"hidden_sizes": [8, 16, 40, 64], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 5, 8]}
_WINDOWS = {"embed_dim": 24, "image_size": 32, "patch_size": 2, "window_size": 2}
SPECIAL: Dict[str, Dict[str, Any]] = {
    **MODEL_ZOO,
    **dict.fromkeys(_AUDIO.split(), CONVOLUTIONS),
    **{name: {"num_key_value_heads": 4, "head_dim": 4} for name in _LATENT.split()},
    **{name: {"num_hidden_layers": 4} for name in _HYBRID.split()},
    **dict.fromkeys(("donut-swin", "swin", "swinv2"), _WINDOWS),
    **dict.fromkeys(("glpn", "pvt", "pvt_v2"), _FOUR_WIDTHS),
    "esmc": {"num_key_value_heads": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "dinov3_convnext": MODEL_ZOO["convnext"],
}


def reduced(config_class: Any, special: Dict[str, Any]) -> Any:
    """Return a configuration of the class with sizes from `SIZES`, and what is special in place of its own."""
    defaults = config_class()
    values: Dict[str, Any] = {}
    for name, value in vars(defaults).items():
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            values[name] = reduced(type(value), {}).to_dict()
        elif name in SIZES and (value is None or type(value) is int):
            values[name] = SIZES[name]
        elif isinstance(value, (list, tuple)) and value and all(type(item) is int for item in value):
            if name in _ONES:
                values[name] = type(value)(1 for _ in value)
            elif name in _WIDTHS:
                values[name] = type(value)(8 * (number + 1) for number, _ in enumerate(value))
    return config_class(**{**values, **special})


def _tokens(batch: int, length: int) -> Any:
    import torch

    return torch.randint(3, 99, (batch, length))


def _size_of(config: Any) -> int:
    for one in (config, getattr(config, "vision_config", None), getattr(config, "backbone_config", None)):
        size = getattr(one, "image_size", None)
        if size is not None:
            return int(size if isinstance(size, int) else size[0])
    return 32


def _image(config: Any, batch: int) -> Any:
    import torch

    for one in (config, getattr(config, "vision_config", None)):
        channels = getattr(one, "num_channels", None) or getattr(one, "in_channels", None)
        if isinstance(channels, int):
            break
    else:
        channels = 3
    return torch.randn(batch, channels, _size_of(config), _size_of(config))


def _random(*shape: int) -> Any:
    import torch

    return torch.randn(*shape)


def _mel_bins(config: Any) -> int:
    for name in ("num_mel_bins", "feature_size", "input_feat_per_channel", "feature_projection_input_dim"):
        if isinstance(getattr(config, name, None), int):
            return int(getattr(config, name))
    return 16


# A kind of arguments -> what a model of it is called with, from its configuration and the size of the batch.
INPUTS: Dict[str, Callable[[Any, int], Arguments]] = {
    "text": lambda config, batch: {"input_ids": _tokens(batch, 16)},
    "text to text": lambda config, batch: {
        "input_ids": _tokens(batch, 16),
        "decoder_input_ids": _tokens(batch, 8),
    },
    "image": lambda config, batch: {"pixel_values": _image(config, batch)},
    "image and text": lambda config, batch: {
        "input_ids": _tokens(batch, 16),
        "pixel_values": _image(config, batch),
    },
    "video": lambda config, batch: {
        "pixel_values": _random(batch, 4, 3, _size_of(config), _size_of(config)),
    },
    "audio": lambda config, batch: {"input_values": _random(batch, 800)},
    "audio channel": lambda config, batch: {"input_values": _random(batch, 1, 640)},
    "frames": lambda config, batch: {"input_features": _random(batch, 32, _mel_bins(config))},
    "spectrogram": lambda config, batch: {
        "input_features": _random(batch, _mel_bins(config), 128),
        "decoder_input_ids": _tokens(batch, 8),
    },
}
_NAMES_BY_KIND = {
    "text": """
        afmoe albert apertus arcee aria aria_text audioflamingo3 axk2 aya_vision beam bert bert-generation big_bird
        biogpt bitnet bloom camembert canine clip_text_model codegen cohere cohere2 cohere2_moe cohere2_vision convbert
        cosmos3_omni cpmant ctrl cwm data2vec-text deberta deberta-v2 deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4
        deepseek_vl deepseek_vl_hybrid diffllama distilbert doge dpr electra embedding_gemma2 embedding_gemma2_text
        ernie ernie4_5 ernie4_5_moe esm esmc eurobert exaone4 exaone4_5 exaone_moe falcon falcon_mamba flava flex_olmo
        flint fnet fuyu gemma gemma2 gemma3 gemma3_text gemma4_unified gemma4_unified_text git glm glm4 glm4_moe
        glm4_moe_lite glm_moe_dsa glmasr got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss
        gptj granite granite_speech granite_speech_plus granite_swa granitemoe granitemoe_swa granitemoeshared gte
        helium higgs_audio_v2 hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax hyperclovax_vision_v2
        ibert idefics2 idefics3 imagegpt inkling_text internvl jais2 jamba jetmoe jina_embeddings_v3 kolibri1 laguna
        layoutlm lfm2 lfm2_vl lighton_ocr llama llama4_text llava llava_next llava_next_video llava_onevision longformer
        luke mamba mamba2 markuplm megatron-bert mellum mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl
        minimax_m3_vl_text ministral ministral3 mistral mistral3 mixtral mllama mobilebert modernbert modernbert-decoder
        modernvbert molmo2_text moshi moss_transcribe_diarize mpnet mpt mra muse_glimmer_text muse_spark_text
        musicflamingo nanochat nemotron nemotron_h nomic_bert nystromformer olmo olmo2 olmo3 olmo_hybrid olmoe
        openai-gpt openai_privacy_filter opt ovis2 paligemma persimmon phi phi3 phimoe qianfan_ocr qwen2 qwen2_audio
        qwen2_moe qwen3 qwen3_5_moe_text qwen3_5_text qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe_thinker qwen3_vl
        qwen3_vl_moe qwen3_vl_moe_text qwen3_vl_text recurrent_gemma rembert roberta roberta-prelayernorm roformer rwkv
        sam3_lite_text_text_model seed_oss smollm3 smolvlm solar_open splinter squeezebert stablelm starcoder2 step3p7
        tapas tipsv2 tipsv2_text_model ultrabert ultravbert unlimited_ocr vaultgemma video_llama_3 video_llava vipllava
        visual_bert voxtral xglm xlm-roberta xlm-roberta-xl xlnet yoso youtu
    """,
    "text to text": """
        bart bigbird_pegasus blenderbot blenderbot-small fastspeech2_conformer fsmt led longt5 m2m_100 marian mbart mt5
        mvp nllb-moe pegasus pegasus_x plbart prophetnet switch_transformers t5 t5gemma t5gemma2 umt5
    """,
    "image": """
        aimv2_vision_model beit chinese_clip_vision_model clip_vision_model convnext convnextv2 data2vec-vision deit
        dinov2 dinov2_with_registers dinov3_convnext dinov3_vit donut-swin dpt focalnet glpn hiera ijepa internvl_vision
        mlcd mlcd_vision_model mobilenet_v1 mobilenet_v2 mobilevit pixio pixtral poolformer pvt pvt_v2
        qianfan_ocr_vision radio regnet resnet rf_detr sam3_vision_model sam3_vit_model sam_hq_vision_model
        sam_vision_model sapiens2 segformer siglip_vision_model swiftformer swin swinv2 tipsv2_vision_model vit vit_mae
        vit_msn vitdet
    """,
    "image and text": """
        aimv2 altclip blip chinese_clip clip clipseg groupvit idefics3_vision metaclip_2 owlv2 owlvit siglip
        smolvlm_vision vilt vision-text-dual-encoder
    """,
    "video": """
        timesformer videomae vivit
    """,
    "audio": """
        data2vec-audio hubert sew unispeech unispeech-sat wav2vec2 wav2vec2-conformer wavlm
    """,
    "audio channel": """
        dac pe_audio_encoder pocket_tts_audio_tokenizer_encoder
    """,
    "frames": """
        lasr_ctc lasr_encoder nemotron3_5_transcribe_asr_audio nemotron3_diarization_audio
        nemotron_asr_streaming_encoder parakeet_ctc parakeet_encoder wav2vec2-bert
    """,
    "spectrogram": """
        gemma4_audio glmasr_encoder moss_transcribe_diarize_audio qwen2_audio_encoder voxtral_encoder
        voxtral_realtime_encoder whisper
    """,
}
KINDS: Dict[str, str] = {name: kind for kind, names in _NAMES_BY_KIND.items() for name in names.split()}


def architectures() -> List[str]:
    """Return the names of the architectures, in the order of the alphabet."""
    return sorted(KINDS)


def build(name: str) -> Case:
    """Return a model of the architecture."""
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = reduced(CONFIG_MAPPING[name], SPECIAL.get(name, {}))
    recipe = INPUTS[KINDS[name]]
    return Case(AutoModel.from_config(config), lambda batch: recipe(config, batch))
