"""Vision models of timm with random weights: the smallest of each of its modules."""

from __future__ import annotations

from typing import List

from bench.gallery.cases import Case

SIDE = 96  # of a picture, where the model takes any size

_NAMES = """
    botnet26t_256 coat_lite_tiny convit_tiny convmixer_1024_20_ks9_p14 cpubone_nano darknet17 davit_tiny
    deit_tiny_patch16_224 dla34 dpn48b edgenext_xx_small efficientformer_l1 efficientvim_m1 efficientvit_b0
    ese_vovnet19b_slim fasternet_t0 focalnet_tiny_srf hardcorenas_a hgnet_tiny hiera_tiny_224 iformer_t
    inception_next_atto lcnet_035 lcnetv2_small legacy_seresnet18 legacy_xception levit_128s lowformer_e1
    maxxvitv2_nano_rw_256 mobilevitv2_050 mvitv2_tiny nest_tiny nf_resnet26 pit_ti_224 poolformer_s12 pvt_v2_b0
    rdnet_tiny regnetx_002 res2net50_48w_2s resmlp_12_224 resnest14d resnet10t resnetv2_18 rexnet_100 selecsls42
    sequencer2d_s shvit_s1 skresnet18 starnet_s050 swiftformer_xs swin_tiny_patch4_window7_224 swinv2_cr_tiny_224
    swinv2_tiny_window8_256 test_byobnet test_convnext3 test_efficientnet_evos test_mambaout test_nfnet test_resnet
    test_vit tiny_vit_5m_224 twins_pcpvt_small visformer_tiny vit_srelpos_small_patch16_224
    vit_tiny_patch16_dinov3_qkvb vit_tiny_r_s16_p8_224 vitamin_small_224 volo_d1_224 xception41p xcit_nano_12_p8_224
"""


def architectures() -> List[str]:
    """Return the names of the models."""
    return _NAMES.split()


def build(name: str) -> Case:
    """Return the model of that name, for pictures of its own size if it takes no other."""
    import timm
    import torch

    model = timm.create_model(name, num_classes=10)
    channels, height, width = model.default_cfg["input_size"]
    if not model.default_cfg.get("fixed_input_size"):
        height, width = min(height, SIDE), min(width, SIDE)
    return Case(model, lambda batch: {"x": torch.randn(batch, channels, height, width)})
