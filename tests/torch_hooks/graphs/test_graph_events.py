"""Events about one graph, from the trace, from a custom backend and from autotuning, become files of that graph."""

from __future__ import annotations

import pytest

from depyf.problems import Problems
from depyf.torch_hooks.entry_points.inspection import _FolderInMemory
from depyf.torch_hooks.frames.compilations import Compilation
from depyf.torch_hooks.graphs.autotuning import Autotuned
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.orphan_graphs import OrphanGraphs
from depyf.torch_hooks.graphs.stages import CACHE_HIT, CAPTURED_EVENT, KERNEL_EVENT, STAGES
from depyf.torch_hooks.internals.structured_trace import TraceEvent

TEXT = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        return (x,)\n"
TUNED = Autotuned("mm", (("triton_mm_0", ""),), {"triton_mm_0": 0.5})


def event(kind, attempt=0):
    return TraceEvent(kind, "0/0", attempt, {}, TEXT)


@pytest.fixture
def graphs():
    problems = Problems()
    return Graphs(_FolderInMemory(problems), problems)


def files(graph):
    record = graph.record()
    return [part.file for part in record.stages + record.kernels + record.candidates]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.event)
def test_each_row_of_the_table_of_stages_gives_a_file_of_its_name(graphs, stage):
    graph = graphs.new("__compiled_fn_1", "0/0")
    graphs.add(graph, event(stage.event))
    assert files(graph) == [f"__compiled_fn_1.{stage.name}.0.py"]


def test_a_custom_stage_that_is_called_like_an_event_of_torch_keeps_its_name_and_its_text(graphs):
    graph = graphs.new("__compiled_fn_1", "0/0")
    for name in (KERNEL_EVENT, "custom " + CAPTURED_EVENT, CACHE_HIT):
        graphs.add(graph, CustomStage(name, TEXT))
    assert [part.stage for part in graph.record().stages] == [KERNEL_EVENT, "custom " + CAPTURED_EVENT, CACHE_HIT]
    assert graph.record().kernels == () and graph.record().skipped == ()


def test_what_a_backend_announces_before_the_graph_has_a_name_belongs_to_the_attempt_that_dynamo_kept():
    compilation = Compilation("0/0")
    for held in (event(CAPTURED_EVENT), CustomStage("first", TEXT), event(CAPTURED_EVENT, attempt=1)):
        compilation.hold(held)
    compilation.hold(CustomStage("second", TEXT))
    assert compilation.take_waiting() == [event(CAPTURED_EVENT, attempt=1), CustomStage("second", TEXT)]
    assert compilation.take_waiting() == []


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([CustomStage("before split", TEXT)], "__compiled_fn_earlier_0"),
        ([event(CAPTURED_EVENT)], "__compiled_fn_exported_0"),
        ([event(CACHE_HIT), TUNED], None),
    ],
)
def test_a_graph_without_a_frame_gets_a_name_only_if_there_is_something_to_read(graphs, events, name):
    graph = OrphanGraphs(graphs).graph_of("0/0", events, has_frame=False, was_announced=False)
    assert (graph and graph.name) == name
