"""Unpacking that drops some elements."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text, function_code

from depyf.decompiler.pipeline import decompile_frame

PROVED = {
    "several elements go to one variable": """
        def f(x):
            a, _, _, _, _ = x
            _, _, b = x
            c, _, *_ = x
            *_, d = x
            (e, _), _, (_, g) = x
            return a, b, c, d, e, g
    """,
    "a loop that takes one element of many": """
        def f(x):
            for a, _, _, _ in x:
                g(a)
            return [b for b, _, _ in x], {c: d for _, _, (c, d, _) in x}
    """,
    "a generator that takes one element of many": """
        def f(group):
            return any(tag in {'replace', 'insert'} for tag, _, _, _, _ in group)
    """,
    "a loop that takes nothing": """
        def f(x):
            for _, _ in x:
                g()
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)


SAME_TEXT = {
    "a method called in a target": """
        def f():
            c, z[a.q()] = g, d in b
    """,
    "several values go to one variable": """
        def f(b):
            with g:
                b, b = b, g
                a, b, b = x(), y(), z()
                b, b, b = x(), y(), (*z, 1)
                a, b, a = x(), y(), z()
    """,
    "a list is unpacked into places": """
        def f(c):
            c, (d.q,) = [1, h]
            c, c.p = [d(), g]
            c, d.q, c = [d, g, h]
            super()
    """,
    "a walrus among values that are stored": """
        def f(a):
            c, c = (d := a()), h ** a
            c, d = (d := a()), h ** a
            c, d.e, a = (d := a()), h ** a, (b := c)
    """,
}


@pytest.mark.parametrize("source", SAME_TEXT.values(), ids=SAME_TEXT.keys())
def test_comes_back_as_it_was_written(source: str) -> None:
    assert_same_text(source)


def test_a_global_with_an_unspellable_name_is_still_read() -> None:
    code = function_code("def f(x): return stand_in.show(x)")
    code = code.replace(co_names=tuple("@pytest_ar" if name == "stand_in" else name for name in code.co_names))
    result = decompile_frame(code)
    assert result.proved, result.verdict
    assert result.code is not None
    assert "@pytest_ar" in result.code.co_names
