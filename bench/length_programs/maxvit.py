"""timm's maxvit: four stages of blocks that repeat, of other sizes in each stage."""

from __future__ import annotations

import timm
import torch


def run() -> None:
    """Call the model once."""
    model = torch.compile(timm.create_model("maxvit_base_tf_224").eval(), backend="eager")
    with torch.no_grad():
        model(torch.randn(1, 3, 224, 224))
