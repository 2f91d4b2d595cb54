"""Of what was compiled before a context, the folder reports what ran inside it, and what did not."""

from __future__ import annotations

import pytest
import torch
from torch_probes import AOT_EAGER_INTERPRETS

import depyf

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


def sine(x):
    return x.sin() + 1


def cosine(x):
    return x.cos() - 1


def executions(folder, call):
    """Return, for each function, what was seen of the files that it runs while `call` runs inside a context."""
    with depyf.prepare_debug(str(folder)) as context:
        call()
    assert not context.record.problems
    record, found = context.record, {}
    for frame in record.frames:
        (graph,) = [graph for graph in record.graphs if graph.name in frame.graphs]
        parts = [part for part in graph.stages + graph.kernels if part.execution]
        found[record.function(frame.function).name] = {part.made_for or part.stage: part.execution for part in parts}
        for part in parts:
            first = (folder / part.file).read_text().split("\n", 1)[0]
            assert ("this code runs" in first) == part.runs, first
            assert ("compiled before this context" in first) == (part.execution == "not called"), first
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_was_compiled_and_called_before_is_reported_as_running_only_if_it_ran_inside(tmp_path, backend):
    torch._dynamo.reset()
    one, other = (torch.compile(function, backend=backend) for function in (sine, cosine))
    x = torch.ones(4, requires_grad=True)
    for compiled in (one, other):
        compiled(x)  # the backward of `sine` is compiled or called inside the context only
    other(x).sum().backward()
    found = executions(tmp_path / "d", lambda: one(x).sum().backward())
    if backend == "aot_eager" and AOT_EAGER_INTERPRETS:  # an interpreter leaves no marks in the graph
        assert set(found["sine"].values()) | set(found["cosine"].values()) <= {"node by node", "not called"}, found
        return
    assert set(found["sine"].values()) == {"ran"}, found
    assert set(found["cosine"].values()) == {"not called"}, found


def test_a_second_context_does_not_report_what_ran_only_in_the_first(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(sine, backend="eager")
    x = torch.ones(4)
    assert executions(tmp_path / "one", lambda: compiled(x)) == {"sine": {"Captured_Graph": "ran"}}
    assert executions(tmp_path / "two", lambda: None) == {"sine": {"Captured_Graph": "not called"}}
    assert executions(tmp_path / "three", lambda: compiled(x)) == {"sine": {"Captured_Graph": "ran"}}


def test_a_backward_whose_forward_was_compiled_before_is_none_that_was_compiled_without_dynamo(tmp_path):
    torch._dynamo.reset()
    out = torch.compile(sine, backend="inductor")(torch.ones(4, requires_grad=True)).sum()
    with depyf.prepare_debug(str(tmp_path)) as context:
        out.backward()
    assert not any("without Dynamo" in graph.without_frame for graph in context.record.graphs)
    kernels = [part for graph in context.record.graphs for part in graph.kernels if part.made_for == "backward"]
    executions = [part.execution for part in kernels if not part.instead]
    assert executions and "not called" not in executions
