"""`depyf.inspect` of everything that it takes, as an overview and as the whole story."""

import functools

import torch

import depyf
from depyf.explain import dump_src


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def scaled(x, factor):
    return x * factor


def never_compiled(x):
    return x


class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        torch._dynamo.graph_break()
        return x.relu()


class Callable:
    def __call__(self, x):
        return x + 1


def show(name, target):
    try:
        inspection = depyf.inspect(target)
    except Exception as error:
        print(f"==== {name}: {type(error).__name__}: {error}")
        return
    print(f"==== {name}\n{inspection!r}\n---- whole\n{inspection}\n---- files {sorted(inspection.texts)}")


print(repr(depyf.inspect()), str(depyf.inspect()))
toy = torch.compile(toy_example, backend="eager")
trained = torch.compile(toy_example, backend="aot_eager")
for sign in (1, -1):
    toy(torch.ones(10), sign * torch.ones(10))
    trained(torch.ones(10, requires_grad=True), sign * torch.ones(10)).sum().backward()
factor = torch.compile(scaled, backend="eager")
for number in (2, 3, 2.5):
    factor(torch.ones(3), number)
half = torch.compile(Half(), backend="eager")
half(torch.ones(2, 3))
in_place = Half()
in_place.compile(backend="eager")
in_place(torch.ones(4, 3))
called = Callable()
torch.compile(called, backend="eager")(torch.ones(2))

show("function", toy)
show("code", toy_example.__code__)
show("partial", functools.partial(factor, factor=2))
show("never compiled", never_compiled)
for target in (half, half._orig_mod, in_place, in_place.forward, Half.forward):
    show("module", target)
show("object", called)
show("sequential", torch.nn.Sequential(torch.nn.ReLU(), half._orig_mod))
for target in (3, None, len, torch.add, int):
    show("error", target)
print(repr(depyf.inspect()))
print(dump_src(scaled))
