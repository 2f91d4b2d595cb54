"""A hand-built tree compiles to a code object that can replace the original: same names, cells, lines and flags."""

from __future__ import annotations
import __future__

from types import CodeType, FunctionType
from typing import Any

import pytest
from decompile_tools import function_code, newer_bytecode

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.recompile import CannotRecompile, compile_like, global_statement


def returning(value: s.Expression, *names: str, name: str = "f") -> s.Module:
    """Return the tree of `def f(*names): return value`."""
    arguments = s.arguments(args=[s.arg(one) for one in names])
    return s.Module([s.FunctionDef(name, arguments, [s.Return(value)])])


def recompiled(tree: s.Module, original: CodeType, **options: Any) -> CodeType:
    return compile_like(tree, original, **{"filename": "shown.py", "shown_line": 1, **options})


def test_a_constant_without_a_spelling_comes_back_as_the_same_object() -> None:
    device = object()
    tree = returning(s.Tuple([s.Placeholder("__constant_0", device), s.Constant(1)]))
    code = recompiled(tree, function_code("def f(): return x, 1"), constants={"__constant_0": device})
    found, one = FunctionType(code, {})()
    assert found is device and one == 1
    assert not any(isinstance(const, bytes) for const in code.co_consts)


def test_a_constant_inside_a_folded_tuple_comes_back_too() -> None:
    device = object()
    tree = returning(s.Call(s.Name("g"), [s.Tuple([s.Placeholder("__constant_0"), s.Constant("b")])]))
    code = recompiled(tree, function_code("def f(): return g((x, 'b'))"), constants={"__constant_0": device})
    assert FunctionType(code, {"g": lambda pair: pair})()[0] is device


def test_shown_names_are_mapped_back_to_the_real_ones() -> None:
    tree = returning(s.Call(s.Name("compiled_fn"), [s.Name("__implicit_0")]), "__implicit_0")
    real = {"__implicit_0": ".0", "compiled_fn": "__compiled_fn_1_f0a2"}
    code = recompiled(tree, function_code("def f(a): return g(a)"), names=real)
    assert code.co_varnames == (".0",) and code.co_names == ("__compiled_fn_1_f0a2",)
    assert FunctionType(code, {"__compiled_fn_1_f0a2": lambda x: x + 1})(1) == 2


def test_free_variables_keep_the_order_of_the_original() -> None:
    original = function_code("def f(): return b, a").replace(co_freevars=("b", "a"))
    code = recompiled(returning(s.Tuple([s.Name("a"), s.Name("b")])), original)
    cells = [(lambda value: lambda: value)(value).__closure__[0] for value in ("of b", "of a")]  # type: ignore[index]
    assert code.co_freevars == ("b", "a")
    assert FunctionType(code, {}, closure=tuple(cells))() == ("of a", "of b")


def test_lines_are_those_of_the_text_that_is_shown_also_under_a_function_for_free_variables() -> None:
    plain, closed = function_code("def f(): return a"), function_code("def f(): return a").replace(co_freevars=("a",))
    for original in (plain, closed):
        code = recompiled(returning(s.Name("a")), original, shown_line=12)
        assert code.co_firstlineno == 12 and code.co_filename == "shown.py"
        assert {line for _, _, line in lines_of(code) if line is not None} <= {12, 13}


@newer_bytecode
def test_name_qualified_name_and_flags_are_those_of_the_original() -> None:
    original = function_code("def f(): return a").replace(co_name="resume_in_<lambda>_at_3", co_qualname="C.<lambda>")
    original = original.replace(co_flags=original.co_flags | __future__.generator_stop.compiler_flag | 0x10)
    code = recompiled(returning(s.Name("a"), name="resume"), original)
    assert (code.co_name, code.co_qualname) == ("resume_in_<lambda>_at_3", "C.<lambda>")
    assert code.co_flags == original.co_flags


def test_a_text_with_two_definitions_is_refused() -> None:
    one = returning(s.Name("a")).body[0]
    with pytest.raises(CannotRecompile, match="2 code objects"):
        recompiled(s.Module([one, one]), function_code("def f(): return a"))


def test_a_function_that_reads_a_global_of_its_own_name_still_finds_the_global() -> None:
    definition = s.FunctionDef("f", s.arguments(), [s.Return(s.Name("f"))])
    found = global_statement([definition], function_code("def f(): return f"))
    assert [s.dump(node) for node in found] == [s.dump(s.Global(["f"]))]
    assert global_statement([definition], function_code("def f(): return g")) == []
