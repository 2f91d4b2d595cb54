"""With `strict`, a text runs as it is: given the globals that it names, and its class if it calls `super()`."""

from __future__ import annotations

from typing import Any, Dict

import pytest

import depyf


class Base:
    def value(self) -> int:
        return 1


class Derived(Base):
    def value(self) -> int:
        return super().value() + 1


class Marker:
    """A default value, under the name of a global."""


def test_a_method_that_calls_super_runs_outside_its_class() -> None:
    space: Dict[str, Any] = {}
    text = depyf.decompile(Derived.value, strict=True)
    exec(text, space)
    method = space["__enclosing_scope_of_value"](Derived)
    assert method(Derived()) == 2
    assert "__enclosing_scope" not in depyf.decompile(Derived.value), "only a text that is to run needs that"


def function_with_default() -> Any:
    Marker = 5  # noqa: N806

    def counts(default=globals()["Marker"]):  # type: ignore[no-untyped-def]
        nonlocal Marker
        Marker += 1
        return default, Marker

    return counts


def test_a_default_is_not_written_by_a_name_that_means_something_else_there() -> None:
    with pytest.raises(depyf.decompiler.DecompilationError):
        depyf.decompile(function_with_default(), strict=True)
    text = depyf.decompile(function_with_default())
    assert "default=Marker" not in text
