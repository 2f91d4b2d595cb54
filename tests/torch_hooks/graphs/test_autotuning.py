"""Candidates of Inductor's autotuning are listed beside the kernels."""

from __future__ import annotations

import json

import pytest
import torch

import depyf


class Choice:
    def __init__(self, name, description):
        self.name, self.description = name, description


def test_autotuning_candidates_are_listed_apart_from_kernels_and_timed_in_timings_json(tmp_path):
    select_algorithm = pytest.importorskip("torch._inductor.select_algorithm")
    if not hasattr(select_algorithm, "get_algorithm_selector_cache"):
        pytest.skip("this torch has no place to register for it")
    savers = select_algorithm.get_algorithm_selector_cache().feedback_saver_fns
    before = list(savers)
    small, big, broken = Choice("mm_0", "BLOCK_M=16"), Choice("mm_1", "BLOCK_M=64"), Choice("mm_2", "")

    def backend(graph_module, example_inputs):
        assert select_algorithm.get_algorithm_selector_cache().feedback_saver_fns is savers  # as Inductor does,
        for saver in savers:  # of torch 2.13 and of older ones
            saver({small: 0.5, big: 0.25, broken: float("inf")}, "mm", [], [small, big, broken], None, {})
            saver({}, "bmm", [], [], None)
            saver(None, None, None, [object()])
        return graph_module.forward

    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as context:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert list(savers) == before
    (graph,) = context.record.graphs
    assert context.record.problems == ("listing what autotuning tried: AttributeError",)
    first, second = graph.candidates
    assert not graph.kernels and first.stage == "autotuning" and not first.runs
    assert (tmp_path / first.file).read_text().splitlines()[1:] == [
        "# Inductor had 3 choices for mm. How long each took is in timings.json.",
        "# What runs is in the kernel files; a slower choice may be taken where it can be fused with its neighbours.",
        "#",
        "# mm_0",
        "#     BLOCK_M=16",
        "# mm_1   (the fastest)",
        "#     BLOCK_M=64",
        "# mm_2   (could not be timed)",
    ]
    times = json.loads((tmp_path / "timings.json").read_text())["compilations"][0]["autotuning"]
    assert times[0] == {"operation": "mm", "milliseconds": {"mm_0": 0.5, "mm_1": 0.25}}
    story = next(tmp_path.glob("full_code_for_lambda_*.py")).read_text()
    assert f"{first.file}   (what autotuning tried)" in story
