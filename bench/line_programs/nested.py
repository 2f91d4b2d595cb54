"""Functions inlined from another file, one of them called on two lines, a lambda and a closure."""

import torch
from nested_helpers import twice, wave


def outer(x):
    y = wave(x)
    z = twice(lambda t: torch.atan(t), y)
    shift = 0.5

    def moved(t):
        return torch.exp(t) + shift

    w = moved(z)
    return wave(w) + wave(
        z,
    )


def run(compiled):
    step = compiled(outer)
    step(torch.randn(8))
