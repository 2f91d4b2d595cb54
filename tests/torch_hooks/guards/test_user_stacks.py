"""A guard names the line that asked for it, also where torch records that line for its own log only."""

from __future__ import annotations

import torch
from torch._guards import GuardsSet

import depyf
from depyf.record.saved_form import from_json
from depyf.torch_hooks.guards import user_stacks


def test_each_guard_on_an_argument_has_the_line_that_asked_for_it(tmp_path):
    def scaled(x, factor):
        return x * factor

    torch._dynamo.reset()
    before = GuardsSet.add
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(scaled, backend="eager")(torch.ones(3), 2)
    assert GuardsSet.add is before
    (frame,) = from_json((tmp_path / "manifest.json").read_text()).frames
    lines = {guard.location and guard.location.line for guard in frame.guards if guard.expression.startswith("L[")}
    assert lines == {scaled.__code__.co_firstlineno + 1}


def test_a_torch_that_records_the_lines_itself_is_left_alone(monkeypatch):
    class Recording:
        def add(self, guard, *, collect_debug_stack=True, skip=0):
            guard.user_stack = []

    monkeypatch.setattr(torch._guards, "GuardsSet", Recording)
    before = Recording.add
    detach = user_stacks.attach()
    assert Recording.add is before
    detach()
    assert Recording.add is before


def test_a_torch_that_does_not_is_given_them_until_the_end(monkeypatch):
    class Silent:
        inner = ()

        def add(self, guard, *, collect_debug_stack=True, skip=0):
            guard.skipped = skip

    class Guard:
        user_stack = None

    monkeypatch.setattr(torch._guards, "GuardsSet", Silent)
    before = Silent.add
    detach = user_stacks.attach()
    guard = Guard()
    Silent().add(guard, collect_debug_stack=False, skip=2)
    assert guard.user_stack is not None and guard.skipped == 3
    detach()
    assert Silent.add is before
