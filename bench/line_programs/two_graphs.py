"""Two graphs in a frame: a call that Dynamo does not enter, in the middle of a function."""

import torch


@torch._dynamo.disable
def outside(x):
    return x.tolist()


def halves(x):
    a = torch.sin(x)
    a = torch.cosh(a)
    numbers = outside(a)
    b = torch.atan(x) + len(numbers)
    b = torch.exp(b)
    return a + b


def run(compiled):
    step = compiled(halves)
    step(torch.randn(8))
