"""A hundred blocks of LayerNorm, two Linear and GELU, and a graph break between the halves."""

from __future__ import annotations

from typing import Any

import torch


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.n = torch.nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        return x + self.b(torch.nn.functional.gelu(self.a(self.n(x))))


class Net(torch.nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(16) for _ in range(layers))
        self.half = layers // 2

    def forward(self, x: Any) -> Any:
        for block in self.blocks[: self.half]:
            x = block(x)
        if x.sum() > 1e9:
            x = x - 1
        for block in self.blocks[self.half :]:
            x = block(x)
        return x


def run() -> None:
    """Call the model once."""
    torch.compile(Net(100), backend="eager")(torch.randn(4, 16))
