"""The first line of a graph's file must not send a reader to code that does not run."""

from __future__ import annotations

import weakref

import pytest

from depyf.record.records import StageRecord
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile, Link
from depyf.torch_hooks.graphs.first_lines import completed, first_line


def file_of(stage, name=None, **state):
    return GraphFile(stage, 0, name or f"g.{stage}.0.py", "text", **state)


def graph_of(*stages, kernels=(), **state):
    return CompiledGraph("g", "0/0", stages=list(stages), kernels=list(kernels), **state)


def linked(calls=0):
    """Return links to a function that was called so often."""
    names = {}
    exec("def forward(x): return x + 1", names)
    forward = names["forward"]
    for _ in range(calls):
        forward(1)
    return [Link(weakref.ref(forward), forward.__code__, forward.__code__)]


def finished(stage, **state):
    file = file_of(stage, **state)
    file.finish()
    return file


FORWARD_KERNEL = file_of("kernel", "g.kernel_0.py", made_for="inference", runs=True, links=linked())
BACKWARD_KERNEL = file_of("kernel", "g.kernel_1.py", made_for="backward", runs=True, links=linked())


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (finished("Captured_Graph", links=linked(1)), "# g, Captured_Graph: this code runs."),
        (file_of("a\nb", runs=True), "# g, a b: this code runs; not linked to this file."),
        (
            finished("Captured_Graph", links=linked(0)),
            "# g, Captured_Graph: not called so far inside the context.",
        ),
        (
            file_of("Captured_Graph", links=linked(0)),
            "# g, Captured_Graph: may be what a call runs; whether it ran inside the context is not known.",
        ),
        (
            file_of("kernel", was_running=True, links=linked(1), is_over=True),
            "# g, kernel: compiled before this context; may be what a call runs; whether it ran inside the context is not "
            "known.",
        ),
        (
            file_of("kernel", was_running=True, links=linked(0), is_over=True),
            "# g, kernel: compiled before this context; not called so far inside the context.",
        ),
        (
            finished("kernel", links=linked(1), is_recorded=True),
            "# g, kernel: this code runs while a CUDA graph is warmed up and recorded; a replay of it runs no Python.",
        ),
        (
            finished("kernel", links=linked(1), recorded_functions=("partition_0", "partition_1")),
            "# g, kernel: this code runs; partition_0, partition_1 while a CUDA graph is warmed up and recorded, "
            "not when it is replayed.",
        ),
        (
            finished("Forward_graph", links=linked(0), interpreter="Shapes"),
            "# g, Forward_graph: run node by node by Shapes; this text is not executed.",
        ),
        (
            file_of("kernel", same_as="h.kernel_0.py"),
            "# g, kernel: not linked; the same code is loaded once and linked to h.kernel_0.py",
        ),
        (
            file_of("Captured_Graph"),
            "# g, Captured_Graph: not seen to run; the backend may have made something else of it.",
        ),
        (
            file_of("program", "g.program_0.cpp", is_native=True),
            "// g, program: what is compiled of it runs, without Python.",
        ),
        (file_of("autotuning"), "# g, autotuning: what was tried"),
    ],
)
def test_the_first_line_of_a_file_reports_whether_its_code_runs(file, line):
    assert first_line(graph_of(file), file) == line


def test_a_graph_that_does_not_run_names_the_kernel_made_of_it_and_not_that_of_the_other_direction():
    forward, backward, whole = file_of("Forward_graph"), file_of("Backward_graph"), file_of("Captured_Graph")
    graph = graph_of(whole, forward, backward, kernels=[FORWARD_KERNEL, BACKWARD_KERNEL])
    assert first_line(graph, forward).endswith("not run by this backend; what runs is g.kernel_0.py")
    assert first_line(graph, backward).endswith("not run by this backend; what runs is g.kernel_1.py")
    assert first_line(graph, whole).endswith("what runs is g.kernel_0.py, g.kernel_1.py")


def test_a_stage_of_inductor_does_not_name_the_graph_that_a_backend_made_as_what_runs_of_it():
    forward, whole = file_of("Forward_graph"), file_of("Captured_Graph")
    split = file_of("Backend_graph", runs=True, links=linked())
    graph = graph_of(whole, forward, split, kernels=[FORWARD_KERNEL])
    assert first_line(graph, forward).endswith("what runs is g.kernel_0.py")
    assert first_line(graph, whole).endswith("what runs is g.Backend_graph.0.py, g.kernel_0.py")


def test_a_backward_that_has_not_run_yet_is_not_shown_as_running():
    backward = file_of("Backward_graph")
    assert first_line(graph_of(backward, kernels=[FORWARD_KERNEL]), backward).endswith("has run so far")


def test_a_graph_of_which_nothing_was_called_does_not_blame_the_backend():
    forward, whole = finished("Forward_graph", links=linked(0)), file_of("Captured_Graph")
    assert first_line(graph_of(whole, forward), whole).endswith("nothing that was made of it has run so far")


def test_a_killed_program_leaves_no_claim_that_a_graph_runs_which_is_only_kept():
    kept, forward = file_of("Captured_Graph", links=linked()), file_of("Forward_graph", links=linked())
    kept.links[0].is_expected = False
    graph = graph_of(kept, forward)
    assert first_line(graph, kept).endswith("not run by this backend; what runs is g.Forward_graph.0.py")
    assert first_line(graph, forward).endswith(
        "may be what a call runs; whether it ran inside the context is not known."
    )


def test_each_piece_of_a_split_graph_has_its_number_in_the_first_line():
    first, second = file_of("Forward_graph", piece=0), file_of("Forward_graph", piece=1, runs=True, links=linked())
    graph = graph_of(first, second)
    graph.pieces.count = 2
    assert first_line(graph, second) == "# g, Forward_graph of piece 1: this code runs."
    assert first_line(graph, first).endswith("nothing that was made of it has run so far")


def test_a_function_that_was_linked_in_case_it_runs_and_did_not_gets_its_own_code_back():
    (link,) = linked(0)
    names = {}
    exec("def forward(x): return x + 1", names)
    forward = names["forward"]
    original = forward.__code__
    code = original.replace(co_filename="g.Backend_graph.0.py")
    forward.__code__ = code
    file = finished("Backend_graph", links=[Link(weakref.ref(forward), code, original, is_expected=False)])
    assert forward.__code__ is original and not file.linked and file.execution == ""


def test_the_first_line_in_a_killed_process_is_completed_from_its_journal():
    file = file_of("Captured_Graph")
    written = first_line(graph_of(file), file)
    ran = StageRecord("Captured_Graph", 0, file.name, runs=True, linked=True, execution="ran")
    assert completed(written, ran) == "# g, Captured_Graph: this code runs."
    assert completed("# g, Captured_Graph: this code runs.", ran) is None
    other = StageRecord("Captured_Graph", 0, file.name, instead=("g.kernel_0.py",))
    assert completed(written, other).endswith("not run by this backend; what runs is g.kernel_0.py")
