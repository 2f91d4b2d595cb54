"""Resume functions of resume functions, with variables that live across the breaks, trained."""

import torch


def staged(x, factor):
    first = torch.sin(x) * factor
    torch._dynamo.graph_break()
    second = torch.cosh(first) + first
    torch._dynamo.graph_break()
    third = torch.atan(second) - first
    return torch.sigmoid(third).sum()


def run(compiled):
    step = compiled(staged)
    step(torch.randn(8, requires_grad=True), 3).backward()
