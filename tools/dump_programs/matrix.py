"""One cell of backend x grad x shapes x function or module: `matrix.py BACKEND GRAD SHAPES KIND`."""

import sys

import torch

import depyf

backend, grad, shapes, kind = sys.argv[1:]
grad, dynamic = grad == "grad", shapes == "dynamic"


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        x = a / (torch.abs(a) + self.scale)
        if b.sum() < 0:
            b = b * -1
        return x * b


target = toy_example if kind == "function" else Toy().requires_grad_(grad)
compiled = torch.compile(target, backend=backend, dynamic=dynamic or None)
with depyf.prepare_debug("dump", log_bytecode=kind == "function"):
    for size in (10, 10, 12, 12) if dynamic else (10, 10):
        for sign in (1, -1):
            a = torch.linspace(-1, 1, size, requires_grad=grad)
            out = compiled(a, sign * torch.ones(size))
            print(out.tolist())
            if grad:
                out.sum().backward()
                print(a.grad.tolist())
