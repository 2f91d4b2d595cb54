"""The first line of a graph's file must not send a reader to code that does not run."""

from __future__ import annotations

import pytest

from depyf.record.records import StageRecord
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile
from depyf.torch_hooks.graphs.first_lines import completed, first_line


def file_of(stage, name=None, **state):
    return GraphFile(stage, 0, name or f"g.{stage}.0.py", "text", **state)


def graph_of(*stages, kernels=(), **state):
    return CompiledGraph("g", "0/0", stages=list(stages), kernels=list(kernels), **state)


FORWARD_KERNEL = file_of("kernel", "g.kernel_0.py", made_for="inference", runs=True, linked=True)
BACKWARD_KERNEL = file_of("kernel", "g.kernel_1.py", made_for="backward", runs=True, linked=True)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (file_of("Captured_Graph", runs=True, linked=True), "# g, Captured_Graph: this code runs."),
        (file_of("a\nb", runs=True), "# g, a b: this code runs, but is not linked to this file."),
        (
            file_of("Forward_graph", runs=True, interpreted=True),
            "# g, Forward_graph: this code runs, node by node in an interpreter: breakpoints here are not hit.",
        ),
        (
            file_of("kernel", runs=True, same_as="h.kernel_0.py"),
            "# g, kernel: not linked; the same code is loaded once and linked to h.kernel_0.py",
        ),
        (
            file_of("Captured_Graph"),
            "# g, Captured_Graph: not seen to run; the backend may have made something else of it.",
        ),
        (file_of("program", "g.program_0.cpp", runs=True, linked=True), "// g, program: this code runs."),
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


def test_a_backward_that_has_not_run_yet_is_not_shown_as_running():
    backward = file_of("Backward_graph")
    assert first_line(graph_of(backward, kernels=[FORWARD_KERNEL]), backward).endswith("has run so far")


def test_each_piece_of_a_split_graph_has_its_number_in_the_first_line():
    first, second = file_of("Forward_graph", piece=0), file_of("Forward_graph", piece=1, runs=True, linked=True)
    graph = graph_of(first, second)
    graph.pieces.count = 2
    assert first_line(graph, second) == "# g, Forward_graph of piece 1: this code runs."
    assert first_line(graph, first).endswith("nothing that was made of it has run so far")


def test_the_first_line_in_a_killed_process_is_completed_from_its_journal():
    file = file_of("Captured_Graph")
    written = first_line(graph_of(file), file)
    ran = StageRecord("Captured_Graph", 0, file.name, runs=True, linked=True)
    assert completed(written, ran) == "# g, Captured_Graph: this code runs."
    assert completed("# g, Captured_Graph: this code runs.", ran) is None
