"""Loops: unrolled ones, one in another, a comprehension."""

import torch


def repeated(x):
    parts = []
    for step in range(3):
        x = torch.sin(x) + step
        for inner in range(2):
            x = torch.cosh(x) * 0.1 * inner
        parts.append(x)
    while len(parts) > 1:
        last = parts.pop()
        parts[0] = parts[0] + torch.atan(last)
    return sum([torch.exp(part) for part in parts]).sigmoid()


def run(compiled):
    step = compiled(repeated)
    step(torch.randn(8))
