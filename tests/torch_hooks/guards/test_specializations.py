"""A size that became a number names the line that asked for it: without it nobody finds why a version serves one size."""

from __future__ import annotations

import inspect

import pytest
import torch
import torch.fx.experimental.symbolic_shapes as symbolic_shapes

import depyf
from depyf.torch_hooks.guards.specializations import SPECIALIZATION_EVENT, read_specialization


@pytest.mark.skipif(SPECIALIZATION_EVENT not in inspect.getsource(symbolic_shapes), reason="this torch reports none")
def test_a_size_that_became_a_number_names_the_line_that_asked_for_it(tmp_path):
    def halved(y):
        return y.reshape(2, 4).sum()

    @torch.compile(backend="eager", dynamic=True)
    def f(x, y):
        print("a graph break has Dynamo start over")
        if x.shape[0] == 6:
            x = x + 1
        return x * halved(y)

    torch._dynamo.reset()
    context = depyf.prepare_debug(str(tmp_path / "dump"))
    with context:
        f(torch.ones(6), torch.ones(8))
    found = [one for frame in context.record.frames for one in frame.specialized]
    assert [(one.sources, one.value, one.location and one.location.code) for one in found] == [
        (("x.size()[0]",), "6", "if x.shape[0] == 6:"),
        (("y.size()[0]",), "8", "return y.reshape(2, 4).sum()"),
    ]


def test_an_event_of_another_form_is_no_failure():
    assert read_specialization({"symbol": 3, "sources": [None, "L['x'].size()[0]"]}, None).sources == ("x.size()[0]",)
    assert read_specialization({"sources": "x"}, None).sources == ()
