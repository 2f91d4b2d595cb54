"""The pipeline falls back to the next rung when one fails, and records the failure."""

from __future__ import annotations

import pytest

from depyf.decompiler.attempt import region_trees, stage_order
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.pipeline import decompile_frame


def test_a_function_that_needs_a_lower_rung_leaves_the_rest_of_its_module_readable(monkeypatch):
    structure = region_trees.structure

    def fails_on_hard(protected, flags=False):
        if protected.graph.program.code.co_name == "hard":
            raise Unstructured("for the test")
        return structure(protected, flags=flags)

    monkeypatch.setattr(region_trees, "structure", fails_on_hard)
    source = "class C:\n    def easy(self):\n        while a:\n            b()\n\n    def hard(self):\n        while a:\n            b()\n"
    result = decompile_frame(compile(source, "<module>", "exec"))
    assert result.proved and result.rung == "state machine"
    assert result.source.startswith(source.partition("    def hard")[0])


def test_a_bug_in_a_stage_is_recorded_for_a_bug_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("injected")

    def step(x):
        return x + 1

    monkeypatch.setattr(stage_order, "region_tree", broken)
    result = decompile_frame(step.__code__)
    assert not result.proved
    assert any("ZeroDivisionError" in bug and "injected" in bug for bug in result.bugs)


def test_a_function_without_a_text_costs_few_attempts_however_deep_it_is_nested(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []
    run = stage_order.Attempt.run

    def counted(self):
        attempts.append(self.request.code.co_name)
        return run(self)

    def fails_on_hard(program, rung=None):
        if program.code.co_name == "hard":
            raise Unstructured("for the test")
        return region_trees.region_tree(program, *([rung] if rung else []))

    monkeypatch.setattr(stage_order.Attempt, "run", counted)
    monkeypatch.setattr(stage_order, "region_tree", fails_on_hard)
    source = "def f():\n class A:\n  class B:\n   class C:\n    def hard(self): return 1\n return A"
    code = next(const for const in compile(source, "<module>", "exec").co_consts if hasattr(const, "co_code"))
    result = decompile_frame(code)
    assert result.rung == "listings inside" and attempts.count("f") <= 3
    assert {name: attempts.count(name) for name in "ABC"} == dict.fromkeys("ABC", 0), attempts
