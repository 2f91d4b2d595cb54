"""All code that a compiled graph leads to is found, however large the model is."""

from __future__ import annotations

import functools

import torch
from torch._dynamo.source import AttrSource, LocalSource

from depyf.torch_hooks.graphs.reachability import reachable_code


def test_code_is_found_in_a_graph_with_thousands_of_inputs():
    def generated():
        pass

    graph = torch.fx.symbolic_trace(lambda x: x + 1)
    graph.sources_of_inputs = [AttrSource(LocalSource("self"), f"x{i}") for i in range(9000)]
    graph.wrapped = functools.partial(functools.partial(generated))
    found = reachable_code(graph)
    assert found.modules == [graph]
    assert generated in found.functions
