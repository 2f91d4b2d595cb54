"""The file to open first is the story of what the program called."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


class Breaks(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x + 1
            torch._dynamo.graph_break()
        return x.relu()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Breaks()

    def forward(self, x):
        x = x.sin()
        torch._dynamo.graph_break()
        x = x.cos()
        torch._dynamo.graph_break()
        return self.inner(x) * 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def helper(x):
    torch._dynamo.graph_break()
    return x * 2


def in_a_loop(x):
    for _ in range(3):
        x = helper(x + 1)
    return x


def first(x):
    return x + 1


def second(x):
    return x + 2


def opened(capsys):
    lines = [line for line in capsys.readouterr().err.splitlines() if "open first: " in line]
    return lines[-1].rpartition("full_code_for_")[2]


@pytest.mark.parametrize(("make", "name"), [(Model, "Model.forward"), (lambda: in_a_loop, "in_a_loop")])
def test_where_a_called_function_breaks_it_is_still_the_one_that_the_program_called(tmp_path, capsys, make, name):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(make(), backend="eager")(torch.ones(3))
    assert opened(capsys) == f"{name}_0.py"


def test_it_is_one_that_this_context_compiled(tmp_path, capsys):
    torch._dynamo.reset()
    one, other = torch.compile(first, backend="eager", dynamic=False), torch.compile(second, backend="eager")
    with depyf.prepare_debug(str(tmp_path / "a")):
        for size in range(2, 6):
            one(torch.ones(size))
    capsys.readouterr()
    with depyf.prepare_debug(str(tmp_path / "b")):
        one(torch.ones(3))
        other(torch.ones(3))
    assert opened(capsys) == "second_0.py"


def test_it_is_the_newest_definition_after_a_cell_is_run_again(tmp_path, capsys):
    torch._dynamo.reset()
    for number in (1, 2):
        names = {"torch": torch, "__name__": "__main__"}
        exec(compile(f"def cell(x):\n    return x + {number}\n", f"/tmp/ipykernel_1/{number}.py", "exec"), names)
        function = torch.compile(names["cell"], backend="eager", dynamic=False)
        with depyf.prepare_debug(str(tmp_path)):
            for size in range(2, 7 - 2 * number):
                function(torch.ones(size))
    assert opened(capsys) == "cell_1.py"
