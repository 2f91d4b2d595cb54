"""Reasons of graph breaks and skipped frames, extracted from Dynamo's messages."""

from __future__ import annotations

import pytest
from torch_probes import EXPLAINS_BREAKS

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


def test_the_exception_of_a_backend_is_part_of_the_reason():
    from depyf.torch_hooks.frames.graph_breaks import failure_reason, reason_in

    assert reason_in("backend='mine' raised:\nValueError: no such shape") == (
        "backend='mine' raised: ValueError: no such shape"
    )
    twice = "One thing\n  Explanation: It is `x`.\n  Hint: none\n\nAnother thing\n  Explanation: so\n"
    assert reason_in(twice) == "One thing: It is `x`, and then Another thing: so"
    assert failure_reason("plain") == "plain" and reason_in("") == ""


def test_an_exception_that_dynamo_observed_is_named():
    from depyf.torch_hooks.frames.graph_breaks import reason_in

    context = "\n\n  Developer debug context: raised exception TypeError('no index')\n\n For more details"
    text = f"Observed exception\n  Explanation: Dynamo found no handler. It will propagate.\n  Hint: none\n    at all{context}"
    assert reason_in(text) == "Observed exception: TypeError('no index')"
    by_type = text.replace("TypeError('no index')", "ExceptionVariable(<class 'TypeError'>)")
    assert reason_in(by_type) == "Observed exception: TypeError", "torch 2.8 has its type only"
    assert reason_in("Missing x\n  Explanation: No next() on y. Add it.\n") == "Missing x: No next() on y."


def test_a_heading_that_is_no_reason_gives_way_to_the_reason_below_it():
    from depyf.torch_hooks.frames.graph_breaks import reason_in

    start = (
        "Graph break in user code at t.py:5\nGraph Break Reason: Encountered graph break when attempting to trace CALL"
    )
    below = (
        "Consider annotating your code using torch._check*(). Could not guard on data-dependent expression zuf0 > 0.5."
    )
    assert reason_in(f"{start}: f(x):\n\n{below}\nCaused by: if size > limit:\n") == (
        "Could not guard on data-dependent expression zuf0 > 0.5"
    )
    assert reason_in(f"{start}\n\n{below}\n").endswith("attempting to trace CALL"), "a reason of its own"
    assert reason_in(f"{start}: f(x):\n") == "Encountered graph break when attempting to trace CALL: f(x):"


def test_the_calls_of_a_break_begin_where_the_program_called_what_it_compiled(tmp_path):
    def broken(x):
        torch._dynamo.graph_break()
        return x + 1

    def caller(function):
        return function(torch.ones(2))

    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path) as context:
        caller(torch.compile(broken, backend="eager"))
    (found,) = context.record.frames[0].graph_breaks
    assert [call.function for call in found.stack] == ["caller", "broken"]


def unable(graph, inputs):
    from torch._subclasses.fake_tensor import DataDependentOutputException

    raise DataDependentOutputException(torch.ops.aten._local_scalar_dense.default)


def test_a_backend_that_leaves_a_graph_to_eager_is_one_break_with_a_place(tmp_path):
    def function(x):
        return x + 1

    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path, include_earlier=False) as context:
        assert torch.compile(function, backend=unable)(torch.ones(2)).tolist() == [2, 2]
    summary = (tmp_path / "summary.txt").read_text()
    assert not context.record.problems
    assert "WON'T CONVERT" not in summary and "unknown place" not in summary
    cause = (
        "_local_scalar_dense" if EXPLAINS_BREAKS else "\n      Backend compiler failed with a fake tensor exception\n"
    )
    assert cause in summary
