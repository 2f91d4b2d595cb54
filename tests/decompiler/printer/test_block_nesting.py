"""Texts that would crash CPython's compiler are not handed to it."""

from __future__ import annotations

import pytest

from depyf.decompiler import decompile_frame
from depyf.decompiler import syntax as s
from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.printer.block_nesting import MOST_BLOCKS, nests_too_many_blocks


def comprehensions(count: int) -> s.Expression:
    found: s.Expression = s.Name("a")
    for _ in range(count):
        found = s.ListComp(found, [s.comprehension(s.Name("x"), s.Name("a"))])
    return found


def too_many(statement: s.Statement) -> bool:
    tree = s.Module([statement])
    return nests_too_many_blocks(tree, print_source(tree, features=SyntaxLimits()).text)


def inside(statement: s.Statement, count: int, make) -> s.Statement:
    for _ in range(count):
        statement = make(statement)
    return statement


def a_with(body: s.Statement) -> s.Statement:
    return s.With([s.withitem(s.Name("a"))], [body])


def a_try(body: s.Statement) -> s.Statement:
    return s.Try([body], [], [], [s.Pass()])


def a_handler(body: s.Statement) -> s.Statement:
    return s.Try([s.Pass()], [s.ExceptHandler(s.Name("E"), "e", [body])])


@pytest.mark.parametrize("make, each", [(a_with, 1), (a_try, 1), (a_handler, 2)])
def test_one_block_too_many_around_a_comprehension_is_found(make, each):
    """On 3.12.1, `with` 20 times and a list comprehension inside end the process."""
    body = s.Expr(comprehensions(1))
    assert not too_many(inside(body, (MOST_BLOCKS - 1) // each, make))
    assert too_many(inside(body, MOST_BLOCKS // each, make))


def test_comprehensions_count_as_blocks():
    assert not too_many(s.Expr(comprehensions(MOST_BLOCKS)))
    assert too_many(s.Expr(comprehensions(MOST_BLOCKS + 1)))
    one_with = s.With([s.withitem(s.Name("a"))] * MOST_BLOCKS, [s.Expr(comprehensions(1))])
    assert too_many(one_with)


def test_a_function_inside_counts_anew():
    function = s.FunctionDef("f", s.arguments(), [s.Expr(comprehensions(MOST_BLOCKS))])
    assert not too_many(inside(function, MOST_BLOCKS - 1, a_with))


def test_as_many_blocks_as_the_compiler_accepts_have_a_text():
    lines = [" " * depth + "with a:" for depth in range(1, MOST_BLOCKS)]
    source = "def f(a):\n" + "\n".join(lines) + "\n" + " " * MOST_BLOCKS + "return [b for b in a]\n"
    assert decompile_frame(compile(source, "nested.py", "exec")).proved
