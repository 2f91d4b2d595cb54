"""Operators that hold graphs, transforms, regions, autograd functions, subclasses and modes."""

import torch
from torch.utils.checkpoint import checkpoint

import depyf


def with_cond(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


def with_checkpoint(x):
    return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False) * 2


def with_transforms(x):
    return torch.func.vmap(torch.func.grad(lambda y: y.sin().sum()))(x.unsqueeze(0))


@torch.compiler.nested_compile_region
def region(x):
    return x.sin() + 1


def with_regions(x):
    return region(region(x))


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


def with_own_autograd(x):
    return Sine.apply(x) * 2


def with_state(x):
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.profiler.record_function("inside"):
        y = x.view(2, 2) @ x.view(2, 2)
    with torch.enable_grad():
        return y.float().sum() + x.sum()


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def in_a_mode(x):
    with Mode():
        return x.sin() + 1


class Tagged(torch.Tensor):
    pass


functions = [with_cond, with_checkpoint, with_transforms, with_regions, with_own_autograd, with_state, in_a_mode]
for function in functions:
    torch._dynamo.reset()
    with depyf.prepare_debug(f"dump/{function.__name__}"):
        x = torch.linspace(-1, 1, 4, requires_grad=True)
        out = torch.compile(function, backend="aot_eager")(x)
        out.sum().backward()
        print(function.__name__, out.tolist(), x.grad.tolist())
with depyf.prepare_debug("dump/subclass"):
    compiled = torch.compile(lambda x: x * 2 + 1, backend="eager")
    for x in (torch.ones(3), torch.ones(3).as_subclass(Tagged)):
        print(type(compiled(x)).__name__)
