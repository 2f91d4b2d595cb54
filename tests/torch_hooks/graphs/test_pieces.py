"""Graphs that a backend or DDP splits: each piece has its files."""

from __future__ import annotations

import pytest
import torch
from capture_tools import first_line, session, stages
from torch_probes import HAS_TRACE, needs

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


def test_the_module_that_calls_the_pieces_of_a_split_graph_is_linked_instead_of_the_unsplit_graph(tmp_path):
    from torch.fx.passes.split_module import split_module

    def backend(graph_module, example_inputs):
        from torch._dynamo.utils import lazy_format_graph_code

        sines = 0

        def piece_of(node):
            nonlocal sines
            sines += "sin" in str(node.target)
            return sines

        lazy_format_graph_code("before split", graph_module)
        split = split_module(graph_module, None, piece_of)
        lazy_format_graph_code("after split", split)
        return split.forward

    record = session(tmp_path, lambda: torch.compile(lambda x: (x * 2).sin().sin() + 3, backend=backend)(torch.ones(3)))
    (graph,) = record.graphs
    assert {part.stage: part.linked for part in graph.stages} == {
        "Captured_Graph": False,
        "before split": False,
        "after split": True,
    }
    assert "not run by this backend; what runs is" in first_line(tmp_path, graph.stages[1])
    assert [part.execution for part in graph.stages] == ["", "", "ran"]


@needs(HAS_TRACE, "structured trace, which has the pieces")
def test_each_piece_of_a_graph_that_ddp_splits_has_its_own_linked_files(tmp_path):
    import torch.distributed as dist

    if not dist.is_available() or dist.is_initialized():
        pytest.skip("needs a process group of its own")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(400, 400) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x

    def program():
        parallel = torch.nn.parallel.DistributedDataParallel(Net(), bucket_cap_mb=1.01)
        torch.compile(parallel, backend="inductor")(torch.ones(2, 400)).sum().backward()

    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        record = session(tmp_path, program)
    finally:
        dist.destroy_process_group()
    (graph,) = record.graphs
    assert {"DDP_split_graph", "DDP_split_piece"} <= set(stages(graph))
    pieces = {part.piece for part in graph.stages if part.stage == "Forward_graph"}
    assert pieces == {0, 1}
    kernels = [(part.piece, part.made_for) for part in graph.kernels]
    assert kernels == [(0, "forward"), (1, "forward"), (1, "backward"), (0, "backward")]
    post_grad = [(part.piece, part.made_for) for part in graph.stages if part.stage == "AFTER_POST_GRAD"]
    assert post_grad == kernels
    assert all(part.linked for part in graph.kernels)
    made_of = {(part.stage, part.piece): part.instead for part in graph.stages if part.stage != "AFTER_POST_GRAD"}
    assert made_of["Backward_graph", 1] == (f"{graph.name}.kernel_2.py",)
    assert made_of["DDP_split_piece", 0] == tuple(f"{graph.name}.kernel_{number}.py" for number in (0, 3))
    joint = f"{graph.name}.Backend_graph.0.py"
    assert made_of["Captured_Graph", None] == (joint, *(part.file for part in graph.kernels))
    assert "self.compiled_submod_0(" in (tmp_path / joint).read_text(), "the split graph, with compiled pieces"
    forward = next(part for part in graph.stages if part.stage == "Forward_graph" and part.piece == 1)
    assert first_line(tmp_path, forward).startswith(f"# {graph.name}, Forward_graph of piece 1: ")
    stories = "".join(path.read_text() for path in tmp_path.glob("full_code_for_*.forward_*.py"))
    assert f"{graph.name}.kernel_2.py   (piece 1, backward pass, runs)" in stories
