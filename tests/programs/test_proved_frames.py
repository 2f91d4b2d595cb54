"""Frames that earlier versions of depyf could not prove: each must run from its file."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from torch._dynamo import convert_frame  # noqa: E402
from torch_probes import TORCH, formats_sizes  # noqa: E402

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
def test_every_frame_runs_from_its_text_with_the_same_results(make, count, tmp_path):
    torch.manual_seed(0)
    program, arguments = make(), [torch.ones(2, 2)] * count
    expected = program(*arguments)
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "d") as session:
        result = torch.compile(program, backend="eager")(*arguments)
    assert session.record.frames
    assert {frame.installed for frame in session.record.frames} == {"replaced"}
    assert repr(result) == repr(expected)


class Counting:
    """A closure whose compiled function changes several of its variables at once."""

    @staticmethod
    def make():
        lst, d, s, count, last = [0], {}, set(), 0, None

        def step(x):
            nonlocal lst, count, last
            lst = lst + [1]
            d[1] = 1
            d["x"] = x + 1
            last = x * 2
            s.add(count)
            count += 1
            return x + len(lst), lst, d, s, last

        return step


def a_dict_and_a_list_that_hold_themselves(x):
    d = {}
    d["me"] = d
    d["x"] = x + 1
    items = [d]
    items.append(items)
    torch._dynamo.graph_break()
    return d["me"]["me"]["x"], items[1][0]["x"] is d["x"]


def a_tensor_and_lists_of_it(x):
    ones = torch.ones(3)
    ones.mark = 3
    nested = [ones, ones, [ones]]
    torch._dynamo.graph_break()
    nested[2].append(ones)
    return nested[0] + x, nested[2][0] is ones, ones.mark


def a_walrus_in_a_comprehension_after_the_break(x):
    n = len(x)
    torch._dynamo.graph_break()
    return x, n, [m := i for i in range(n)], m


def a_conversion_waits_for_the_break(x):
    n = x.shape[0]
    text = f"{n}-{n!r:>4}"
    torch._dynamo.graph_break()
    return text, x + 1


NESTED = [
    Counting.make,
    *([lambda: a_dict_and_a_list_that_hold_themselves] if TORCH > (2, 10) else []),  # torch 2.9 recurses for ever there
    lambda: a_tensor_and_lists_of_it,
    lambda: a_walrus_in_a_comprehension_after_the_break,
    lambda: a_conversion_waits_for_the_break,
]


@pytest.mark.parametrize("nested", [False, True], ids=["", "breaks in nested calls are resumed there"])
@pytest.mark.parametrize("dynamic", [None, True], ids=["", "dynamic"])
def test_frames_that_change_shared_objects_run_from_their_text_with_the_same_results(nested, dynamic, tmp_path):
    expected = [make()(torch.ones(3)) for make in NESTED]
    if dynamic and not formats_sizes():  # then the text has the size's symbol, without depyf, too
        expected[-1] = ("s0-'s0'", *expected[-1][1:])
    torch._dynamo.reset()
    config = torch._dynamo.config
    switch = {"nested_graph_breaks": True} if nested and hasattr(config, "nested_graph_breaks") else {}
    met: list[str] = []
    hook = convert_frame.register_bytecode_hook(lambda code, new_code: met.append(code.co_name))
    try:
        with config.patch(**switch), depyf.prepare_debug(tmp_path / "d") as session:
            results = [torch.compile(make(), backend="eager", dynamic=dynamic)(torch.ones(3)) for make in NESTED]
    finally:
        hook.remove()
    assert len(session.record.frames) == len(met) > len(NESTED)
    assert [frame.file for frame in session.record.frames if frame.installed != "replaced"] == []
    assert repr(results) == repr(expected)


def test_a_variable_shared_with_a_nested_function_is_not_stored_into_itself(tmp_path):
    def program(x):
        def inner():
            return x + 1

        torch._dynamo.graph_break()
        return inner()

    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "d") as session:
        torch.compile(program, backend="eager")(torch.ones(3))
    assert {frame.installed for frame in session.record.frames} == {"replaced"}
    assert not [frame.source for frame in session.record.frames if "x = x\n" in frame.source]
