"""`python -m depyf where` on a line where something went wrong: what, for which function, and the story to open."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch")

from torch_probes import EXPLAINS_BREAKS, NAMES_FIRST_BREAK, REPORTS_FIRST_RAISE, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.__main__ import main  # noqa: E402


class Layer(torch.nn.Module):
    def forward(self, x):
        x = x.sin()
        print("here")  # the break
        return x + 1


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(  # the call
                x
            )
        return x


def scaled(x, n):
    return x * n  # the guard


def masked(x):
    mask = None if torch.compiler.is_compiling() else x
    return x * mask[0]  # raised first


def closing(x):
    steps = [x]
    try:
        return masked(x)
    finally:
        steps.pop()  # raised again


def asked(folder, capsys, text):
    """Return what `where` prints about the line of this file that ends in a comment, its second line and those after."""
    lines = inspect.getsource(inspect.getmodule(asked)).split("\n")
    (number,) = [number for number, line in enumerate(lines, start=1) if line.endswith(f"# {text}")]
    capsys.readouterr()
    assert main(["where", f"test_where_reports.py:{number}", str(folder)]) == 0
    return capsys.readouterr().out.replace(str(folder), "dump")


def recorded(folder, function, *calls):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager", dynamic=False)
    with depyf.prepare_debug(folder):
        for call in calls or ((torch.ones(3),),):
            compiled(*call)


def test_the_line_of_a_break_names_the_break_each_function_and_its_story(tmp_path, capsys):
    recorded(tmp_path, Encoder())
    found = asked(tmp_path, capsys, "the break")
    assert "\ngraph break here: " in found and ("Failed to trace builtin operator" in found or not EXPLAINS_BREAKS)
    assert (
        "\n  while compiling Layer.forward (compile id 1/0)\n  story: dump/full_code_for_Layer.forward_0.py\n" in found
    )
    assert "\n  Encoder.forward is not compiled (compile id 0/0): a graph break inside a loop" in found
    assert found.index("Layer.forward") < found.index("Encoder.forward")


def test_a_line_from_which_nothing_is_compiled_names_the_break_below_it(tmp_path, capsys):
    recorded(tmp_path, Encoder())
    found = asked(tmp_path, capsys, "the call")
    assert "\ngraph break below, at " in found and 'print("here")' in found
    assert "\n  Encoder.forward is not compiled (compile id 0/0): a graph break inside a loop" in found
    assert "\n  story: dump/full_code_for_Encoder.forward_0.py\n" in found


def test_the_line_that_asked_for_a_guard_names_the_recompile(tmp_path, capsys):
    recorded(tmp_path, scaled, (torch.ones(3), 2), (torch.ones(3), 3))
    found = asked(tmp_path, capsys, "the guard")
    assert (
        "\nguard that failed, asked for here: 0/0 needs n == 2, now 3\n  scaled was compiled again (compile id 0/1)\n"
        in found
    )
    assert "\n  story: dump/full_code_for_scaled_0.py\n" in found


@needs(NAMES_FIRST_BREAK, "event of a graph break that a function cannot resume from")
def test_the_line_that_raised_an_exception_and_the_one_that_passed_it_on_name_each_other(tmp_path, capsys):
    recorded(tmp_path, closing)
    first = asked(tmp_path, capsys, "raised first")
    if REPORTS_FIRST_RAISE:  # there is no break at the other line then
        assert "\ngraph break here: Observed exception: TypeError" in first
        return
    again = asked(tmp_path, capsys, "raised again")
    assert "\ngraph break because of this line, at " in first and "steps.pop()  # raised again: Observed" in first
    assert "; raised first at " in again and "return x * mask[0]  # raised first\n" in again
    assert "\n  closing is not compiled (compile id 0/0): a graph break from which it cannot resume\n" in again


def test_the_words_of_an_answer_need_no_explanation(tmp_path, capsys):
    recorded(tmp_path, scaled, (torch.ones(3), 2))
    found = asked(tmp_path, capsys, "the guard")
    assert "\ntransformed code, calls the graph that has its operations:\n" in found
    assert "\nCaptured_Graph, its operations:\n" in found
    assert main(["where", "full_code_for_scaled_0.py:3", str(tmp_path)]) == 1
    assert "is for reading: ask about your own lines" in capsys.readouterr().err
