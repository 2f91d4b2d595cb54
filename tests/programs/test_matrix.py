"""Backend x grad x shapes x function or module: same results, valid files, and the code that runs is linked."""

from __future__ import annotations

import capture_tools as tools
import pytest
import torch
from torch_probes import AOT_EAGER_INTERPRETS, CACHE_KEEPS_POST_GRAD, LOGS_PRE_GRAD

RUNNING = {
    ("eager", False): {"Captured_Graph"},
    ("eager", True): {"Captured_Graph"},
    ("aot_eager", False): {"Forward_graph"},
    ("aot_eager", True): {"Forward_graph", "Backward_graph"},
    ("inductor", False): {"kernel"},
    ("inductor", True): {"kernel"},
}


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        x = a / (torch.abs(a) + self.scale)
        if b.sum() < 0:
            b = b * -1
        return x * b

pytestmark = pytest.mark.usefixtures("own_inductor_cache")


def program(target, grad, dynamic):
    results = []
    for size in (10, 10, 12, 12) if dynamic else (10, 10):
        for sign in (1, -1):
            a = torch.linspace(-1, 1, size, requires_grad=grad)
            out = target(a, sign * torch.ones(size))
            results.append(out.detach().clone())
            if grad:
                out.sum().backward()
                results.append(a.grad.clone())
    return results


@pytest.mark.parametrize("kind", ["function", "module"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_every_combination_runs_the_code_that_its_files_show(tmp_path, backend, grad, dynamic, kind):
    target = tools.toy_example if kind == "function" else Toy().requires_grad_(grad)
    run = lambda compiled: program(compiled, grad, dynamic)  # noqa: E731
    records = []
    for name in ("cold", "warm") if backend == "inductor" else ("once",):
        with tools.KernelsByCompileId() as kernels:
            results, record, _ = tools.dump(tmp_path / name, target, run, backend, dynamic=dynamic or None)
        assert tools.same(results, program(target, grad, dynamic))
        tools.assert_all_parse(tmp_path / name)
        tools.assert_kernels_belong_to_their_graphs(tmp_path / name, record, kernels)
        assert_all_of_it_runs_and_is_linked(record, backend, grad)
        records.append(record)
    if backend == "inductor":
        assert_a_warm_cache_gives_the_same_files_except_skipped_passes(tmp_path / "warm", *records)


def assert_all_of_it_runs_and_is_linked(record, backend, grad):
    assert len(record.frames) >= 3 and not record.problems
    assert [frame.file for frame in record.frames if frame.installed != "replaced"] == []
    assert {frame.grade for frame in record.frames} <= {"PROVED", "PROVED_UNDER"}
    for graph in record.graphs:
        parts = [part for part in graph.stages + graph.kernels if part.execution in ("ran", "node by node")]
        assert {part.stage for part in parts} == RUNNING[backend, grad], graph
        if backend == "aot_eager" and AOT_EAGER_INTERPRETS:
            assert not any(part.linked for part in parts), graph
        else:
            assert all(part.linked or part.instead for part in parts), graph
        assert len(graph.kernels) == (0 if backend != "inductor" else 2 if grad else 1)
        made_for = ["forward", "backward"] if grad else ["inference"]
        assert [part.made_for for part in graph.kernels] == (made_for if backend == "inductor" else [])


def assert_a_warm_cache_gives_the_same_files_except_skipped_passes(folder, cold, warm):
    skips = 0
    for before, after, expected, found in zip(
        cold.graphs, warm.graphs, tools.stage_files(cold), tools.stage_files(warm)
    ):
        expected = [file for file in expected if file.split(".")[0] not in after.skipped]
        assert found == expected, after
        may_be_skipped = {"BEFORE_PRE_GRAD"} if CACHE_KEEPS_POST_GRAD else {"BEFORE_PRE_GRAD", "AFTER_POST_GRAD"}
        assert set(before.skipped) <= set(after.skipped) <= may_be_skipped
        seen = {part.stage for part in after.stages}
        assert ("BEFORE_PRE_GRAD" in after.skipped) != ("BEFORE_PRE_GRAD" in seen) or not LOGS_PRE_GRAD
        skips += "BEFORE_PRE_GRAD" in after.skipped
    assert len(cold.graphs) == len(warm.graphs)
    stories = [(folder / function.full_code_file).read_text() for function in warm.functions if function.full_code_file]
    assert sum(story.count("(no BEFORE_PRE_GRAD: torch had the result in its cache") for story in stories) == skips
