"""Qualified names begin as in the original, or pickles and reprs of nested classes would name another place."""

from __future__ import annotations

from types import CodeType

from decompile_tools import function_code

from depyf.decompiler.recompile.qualnames import with_class_qualname, with_prefix


def class_body(source: str) -> CodeType:
    (body,) = [const for const in function_code(source).co_consts if isinstance(const, CodeType)]
    return body


def test_only_a_whole_prefix_is_replaced() -> None:
    assert with_prefix("f.<locals>.g", "f", "Outer.f") == "Outer.f.<locals>.g"
    assert with_prefix("f", "f", "Outer.f") == "Outer.f"
    assert with_prefix("fold.<locals>.g", "f", "Outer.f") == "fold.<locals>.g"


def test_a_class_body_stores_the_new_name_and_keeps_an_equal_constant_that_is_used_elsewhere() -> None:
    code = class_body("def f():\n class C:\n  x = 'f.<locals>.C'")
    space: dict[str, object] = {"__name__": "m"}
    exec(with_class_qualname(code, "Outer.C"), space)
    assert (space["__qualname__"], space["x"]) == ("Outer.C", "f.<locals>.C")


def test_code_that_is_no_class_body_stays_the_same_object() -> None:
    code = function_code("def f():\n __qualname__ = 'f'\n return __qualname__")
    assert with_class_qualname(code, "Outer.f") is code
