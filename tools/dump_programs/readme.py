"""The example of the README, and what `inspect` and `debug` print about it."""

import torch

import depyf


@torch.compile(backend="eager")
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


torch.manual_seed(0)
with depyf.prepare_debug("./dump"):
    for _ in range(100):
        toy_example(torch.randn(10), torch.randn(10))

with depyf.debug():
    print(toy_example(torch.ones(10), torch.ones(10)).tolist())

print(repr(depyf.inspect(toy_example)))
print(depyf.inspect(toy_example))
