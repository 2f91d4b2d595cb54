"""Graph breaks in loops, branches, with and try statements, in functions that are called; with and without resuming there."""

import contextlib

import torch

import depyf


class Manager:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, *error):
        print("exit", self.name)
        return False


def three_in_a_row(x):
    x = x + 1
    torch._dynamo.graph_break()
    x = x * 2
    print("one")
    y = x - 3
    torch._dynamo.graph_break()
    return x + y


def in_branches(x, flag):
    if flag:
        x = x + 1
        if x.sum() > 0:
            x = x * 2
            torch._dynamo.graph_break()
            x = x - 1
        else:
            x = x / 2
    else:
        torch._dynamo.graph_break()
    return x.relu()


def in_a_with(x):
    with torch.no_grad():
        y = x + 1
        torch._dynamo.graph_break()
        y = y * 2
    return x + y


def in_a_manager(x):
    with Manager("a") as manager, contextlib.nullcontext():
        torch._dynamo.graph_break()
        x = x + len(manager.name)
    return x * 2


def in_a_try(x):
    try:
        y = x.sin()
        torch._dynamo.graph_break()
        z = y.cos()
    finally:
        x = x + 1
    return x + z


def in_a_loop(x):
    for step in range(3):
        x = x + step
        torch._dynamo.graph_break()
    return x


def leaf(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def middle(x, scale):
    y = leaf(x) * scale
    return y + leaf(y)


def root(x):
    total = x + 1

    def inner(y):
        nonlocal total
        total += middle(y, scale=2)
        torch._dynamo.graph_break()
        return total * 2

    return inner(x), total


def under_three_managers(a, b):
    x = a + b
    y = a * b
    with torch.set_grad_enabled(False), torch.set_grad_enabled(False), torch.set_grad_enabled(True):
        z = x.tolist()
    return y, z


def data_dependent(x):
    n = int(x.sum().item())
    y = x[:n] if n < 3 else x
    if (y > 0).all():
        y = y + n
    while y.sum() < 20:
        y = y * 2
    return y.unique()


def on_the_stack(x):
    values = [x, x.sin(), leaf(x), {"a": leaf(x)}]
    return torch.stack(values[:3]).sum(0) + values[3]["a"] * leaf(x)


three = torch.ones(3)
programs = [
    (three_in_a_row, (three,)),
    (in_branches, (three, True)),
    (in_branches, (-5 * three, True)),
    (in_branches, (three, False)),
    (in_a_with, (three,)),
    (in_a_manager, (three,)),
    (in_a_try, (three,)),
    (in_a_loop, (three,)),
    (middle, (three, 3)),
    (root, (three,)),
    (under_three_managers, (three, three)),
    (data_dependent, (three,)),
    (on_the_stack, (three,)),
]
for nested in (False, True):
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        name = f"dump/{backend}{'_resumed_inside' if nested else ''}"
        with torch._dynamo.config.patch(nested_graph_breaks=nested), depyf.prepare_debug(name):
            for function, arguments in programs:
                print(function.__name__, torch.compile(function, backend=backend)(*arguments))
