"""Events of torch's structured trace have one name for all torch versions."""

from __future__ import annotations

import pytest


def test_the_post_grad_graph_has_one_name_whatever_torch_calls_it():
    pytest.importorskip("torch")
    from depyf.torch_hooks.internals.structured_trace import read_event

    for name in ("after_post_grad_graph", "inductor_post_grad_graph"):
        event = read_event({"artifact": {"name": name}, "frame_id": 0, "frame_compile_id": 0}, "graph")
        assert event is not None and event.kind == "inductor_post_grad_graph"
