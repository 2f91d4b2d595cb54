"""A case: a small model with random weights, and how it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict

Arguments = Dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A module, and the arguments of a call for a batch of a given size."""

    model: Any
    inputs: Callable[[int], Arguments]
    trains_itself: bool = False  # a call is a whole training step: loss, backward pass and optimizer


def made_finite(model: Any) -> None:
    """Give small random values to weights that a constructor left as the memory was."""
    import torch

    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point() and tensor.numel() and not bool((tensor.abs() < 1e4).all()):
                tensor.normal_(0, 0.02)
