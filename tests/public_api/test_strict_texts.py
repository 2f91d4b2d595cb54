"""With `strict`, a text runs as it is: given the globals that it names, and its class if it calls `super()`."""

from __future__ import annotations

import importlib
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


def compiles_a_function() -> Any:
    space: Dict[str, Any] = {}
    exec("def made(x: missing): pass", space)

    def inside(x: missing) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    return space["made"].__annotations__, inside.__annotations__


def test_annotations_that_are_strings_stay_strings() -> None:
    space: Dict[str, Any] = {}
    exec(compile(depyf.decompile(compiles_a_function, strict=True), "text", "exec", dont_inherit=True), space)
    wanted = {"x": "missing"}, {"x": "missing", "return": "None"}
    assert compiles_a_function() == space["compiles_a_function"]() == wanted
    assert "__future__" not in depyf.decompile(compiles_a_function), "only a text that is to run needs that"


def test_annotations_of_a_class_that_are_strings_stay_strings(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from __future__ import annotations\nclass Annotated:\n value: missing\n def method(self): pass\n"
    (tmp_path / "strict_text_module.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    annotated = importlib.import_module("strict_text_module").Annotated
    space: Dict[str, Any] = {}
    exec(compile(depyf.decompile(annotated, strict=True), "text", "exec", dont_inherit=True), space)
    assert space["Annotated"].__annotations__ == {"value": "missing"}


class Measured:
    @property
    def size(self) -> missing:  # type: ignore[name-defined]  # noqa: F821
        return 1

    @size.setter
    def size(self, value: missing) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass


def test_the_functions_of_a_property_run_as_one_text() -> None:
    text = depyf.decompile(Measured.__dict__["size"], strict=True)
    compile(text, "text", "exec", dont_inherit=True)
    assert text.count("__future__") == 1


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
