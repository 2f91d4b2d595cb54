"""The summary has each cause of graph breaks once, with the ways to it that a person can follow."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from torch_probes import EXPLAINS_BREAKS, needs  # noqa: E402

import depyf  # noqa: E402
from depyf.record.records import GraphBreak, Location, SessionRecord  # noqa: E402
from depyf.report import closing_summary  # noqa: E402
from depyf.report.call_chains import few_calls, ways_to  # noqa: E402


def summary_of(folder, function):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder, include_earlier=False) as context:
        torch.compile(function, backend="eager")(torch.ones(2))
    assert not context.record.problems
    return (folder / "summary.txt").read_text()


def chain(*codes):
    return [Location("m.py", number, "f", code) for number, code in enumerate(codes)]


def shown(most, *codes):
    return few_calls(chain(*codes), most, lambda call: call.code)


def test_of_a_long_way_the_calls_of_decorators_are_left_out_first():
    passing = ["output = func(self, *args, **kwargs)", "return function(*args, **kwargs)"]
    assert shown(4, "main()", *passing, "self.swap()", "layer.swap()", "Linear()") == [
        "main()", "2 more calls", "self.swap()", "layer.swap()", "Linear()",
    ]  # fmt: skip
    assert shown(6, "main()", *passing, "self.swap()") == ["main()", *passing, "self.swap()"], "it is short enough"


def test_a_single_call_is_named_and_not_counted():
    assert shown(2, "main()", "return function(*args)", "layer()") == ["main()", "return function(*args)", "layer()"]
    assert shown(2, "a()", "b()", "c()", "d()") == ["a()", "2 more calls", "d()"]


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [1, 2]
        print("later in the same function")


FIRST_LINE = Inner.__init__.__code__.co_firstlineno - 1


class Outer(torch.nn.Module):
    def forward(self, x):
        for _ in range(1):
            Inner()
        return x + 1


def test_a_break_that_is_there_because_of_another_one_names_that(tmp_path):
    summary = summary_of(tmp_path, Outer())
    first, second = summary.split("graph break at ")[1:3]
    assert "print(" in first.partition("\n")[0] and "super().__init__()" in second.partition("\n")[0]
    assert (
        f"follows from the break at test_break_summary.py:{FIRST_LINE + 4}, "
        "after which Dynamo comes to Inner.__init__ on its own\n" in second
    )
    assert "follows from" not in first


def thrice(x):
    print("first")
    x = x + 1
    print("second")
    x = x * 2
    print("third")
    return x


def calls_thrice(x):
    for _ in range(1):
        x = thrice(x)
    return x


def test_a_break_of_a_function_follows_neither_from_an_earlier_nor_from_a_later_one_of_it(tmp_path):
    assert "follows from" not in summary_of(tmp_path, calls_thrice)


def test_a_stack_without_the_calls_of_code_whose_lines_are_not_known_is_no_way_of_its_own():
    main, step, again = chain("compiled(x)", "y = noisy(x)", "z = noisy(y)")
    noisy = Location("/lib/site-packages/somelib.py", 4, "noisy", "print()")
    stacks = [(main, step, noisy), (main, noisy), (main, again, noisy)]
    breaks = [GraphBreak(("print",), noisy, stack=stack) for stack in stacks]
    assert ways_to(SessionRecord(), breaks) == [(step,), (again,)]
    assert ways_to(SessionRecord(), breaks[1:2]) == [(main,)]


@needs(EXPLAINS_BREAKS, "hints for graph breaks")
def test_hints_that_stood_before_are_named_by_the_line_of_their_break(tmp_path):
    summary = summary_of(tmp_path, thrice)
    line = thrice.__code__.co_firstlineno + 1
    assert summary.count(f"hints: those of the break at test_break_summary.py:{line} above") == 2


def shouting(x):
    print("from many lines")
    return x + 1


def from_seven_lines(x):
    x = shouting(x)
    x = shouting(x)
    x = shouting(x)
    x = shouting(x)
    x = shouting(x)
    x = shouting(x)
    return shouting(x)


def test_the_file_has_every_way_to_a_break_and_the_story_of_what_was_called(tmp_path, capsys):
    summary = summary_of(tmp_path, from_seven_lines)
    assert summary.count("x = shouting(x)") + summary.count("return shouting(x)") == 7
    assert "... and in 2 more ways" in capsys.readouterr().err
    assert "story: full_code_for_from_seven_lines_0.py" in summary


def test_a_break_whose_place_torch_does_not_give_leaves_the_summary_of_the_others_whole(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path, include_earlier=False) as context:
        torch.compile(thrice, backend="eager")(torch.ones(2))
    first, *others = context.record.frames
    (known,) = first.graph_breaks
    unplaced = dataclasses.replace(known, location=None, causes=("no place",), stack=())
    record = dataclasses.replace(
        context.record, frames=(dataclasses.replace(first, graph_breaks=(unplaced,)), *others), summary=()
    )
    text = closing_summary.render(record, str(tmp_path), whole=True)
    assert "graph break at an unknown place\n      no place" in text
    assert 'print("second")' in text


def test_the_hints_of_a_break_are_not_those_of_the_failure_after_it(tmp_path):
    def refuse(graph, inputs):
        raise ValueError("no compiler here")

    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path, include_earlier=False), pytest.raises(Exception, match="no compiler here"):
        torch.compile(branching, backend=refuse)(torch.ones(2))
    breaks, _, failure = (tmp_path / "summary.txt").read_text().partition("not compiled: ")
    assert "no compiler here" in failure and "hint:" not in failure
    assert "Data-dependent" not in breaks or ("hint:" in breaks) == EXPLAINS_BREAKS


def branching(x):
    x = x + 1
    if x.sum() > 0:
        x = x * 2
    return x
