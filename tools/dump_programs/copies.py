"""Frames of real programs whose texts are hard: copied modules, large dictionaries, values used twice."""

import copy

import torch

import depyf


class Nested(torch.nn.Module):
    def branch(self, x, y):
        if x.sum() > 0:
            return x + y
        return x - y

    def forward(self, x, y):
        z = x * y
        return self.branch(z, z) + y


class Copying(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)

    def forward(self, x):
        net = copy.deepcopy(self.net)
        return [weight + self.net.bias for weight in net.parameters()], net(x)


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for number in range(17):
            setattr(self, f"layer_{number}", torch.nn.Linear(2, 2))

    def forward(self, x):
        x = self.layer_0(x)
        modules = dict(self.named_modules())
        torch._dynamo.graph_break()
        return modules["layer_1"](x), len(modules)


def with_module(x):
    return torch.get_device_module(), x + 1


def shared_variable(x):
    def inner():
        return x + 1

    torch._dynamo.graph_break()
    return inner()


def many_results(x):
    parts = [x + number for number in range(40)]
    table = {f"name {number}": part for number, part in enumerate(parts)}
    torch._dynamo.graph_break()
    return parts, table, (parts[0], [parts[1], {"deep": (parts[2], None, 1.5, "text", b"bytes", ...)}])


torch.manual_seed(0)
with depyf.prepare_debug("dump"):
    for program, count in (
        (Nested(), 2),
        (Copying(), 1),
        (Named(), 1),
        (with_module, 1),
        (shared_variable, 1),
        (many_results, 1),
    ):
        torch.compile(program, backend="eager")(*[torch.ones(2, 2)] * count)
