"""Frames of real programs whose texts were once not proved: each must run from its file."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


def break_under_three_managers(a, b):
    x = a + b
    y = a * b
    with torch.set_grad_enabled(False), torch.set_grad_enabled(False), torch.set_grad_enabled(True):
        z = x.tolist()
    return y, z


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


@pytest.mark.parametrize(
    "make, count",
    [(lambda: break_under_three_managers, 2), (Nested, 2), (Copying, 1), (Named, 1)],
    ids=["a break under three context managers", "a value twice in a list", "a cell", "a large dict"],
)
def test_every_frame_is_replaced_and_does_the_same(make, count, tmp_path):
    torch.manual_seed(0)
    program, arguments = make(), [torch.ones(2, 2)] * count
    expected = program(*arguments)
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "d") as session:
        result = torch.compile(program, backend="eager")(*arguments)
    assert session.record.frames
    assert {frame.installed for frame in session.record.frames} == {"replaced"}
    assert repr(result) == repr(expected)
