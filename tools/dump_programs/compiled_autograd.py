"""Compiled autograd, hooks on tensors, double backward of what is left to eager."""

import torch

import depyf

torch.manual_seed(0)
linear = torch.nn.Linear(4, 4)
x = torch.ones(2, 4, requires_grad=True)
with depyf.prepare_debug("dump/enabled"):
    compiled = torch.compile(linear, backend="aot_eager")
    with torch._dynamo.compiled_autograd._enable(lambda module: torch.compile(module, backend="aot_eager")):
        compiled(x).sum().backward()

torch._dynamo.reset()


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


@torch.compile(backend="eager")
def step(x):
    y = Sine.apply(x) * 2
    y.sum().backward()
    return y


with depyf.prepare_debug("dump/inside"), torch._dynamo.config.patch(compiled_autograd=True):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda gradient: gradient * 2)
    print(step(x).tolist(), x.grad.tolist())
