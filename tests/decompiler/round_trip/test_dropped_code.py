"""Code that the compiler dropped has left traces: generators that never yield, cells that nothing captures."""

from __future__ import annotations

import textwrap

import pytest
from decompile_tools import assert_proved, assert_same_text

from depyf.decompiler import decompile_frame

SAME_TEXT = {
    "a comprehension over functions that are never made": """
        def f(g):
            return [lambda: w for w in g if False]
    """,
    "a generator expression over functions that are never made": """
        def f(g):
            return (lambda: w for w in g if False)
    """,
    "a comprehension of which a condition that is never tested has a function": """
        def f(g):
            return [w if True else lambda: w for w in g if w or True]
    """,
    "an async generator that awaits and never yields": """
        async def f(a):
            if False:
                yield
            await a
            raise E
    """,
    "an async generator that never yields in a loop without end": """
        async def f(a):
            if False:
                yield
            while True:
                async with a as b:
                    await b
    """,
    "a function inside with a parameter that only dropped code captures": """
        def f():
            def g(x):
                if False:
                    lambda: x
                return x

            return g
    """,
    "a function inside with variables that only dropped code sets and captures": """
        def f():
            def g(x):
                if False:
                    z = lambda: (y, z)
                y = x
                return y

            return g
    """,
    "a lambda with a parameter that only dropped code captures": """
        def f():
            return lambda x: x if True else lambda: x
    """,
    "a lambda that is a generator and never yields": """
        def f():
            return lambda x: x if True else (yield)
    """,
}


@pytest.mark.parametrize("title", SAME_TEXT)
def test_comes_back_as_it_was_written(title: str) -> None:
    assert_same_text(SAME_TEXT[title])


PROVED = {
    "dict comprehensions": """
        def f(g):
            return {w: (lambda: w) for w in g if 0}, {w: v for w, v in g if 0 and (lambda: w)}
    """,
    "comprehensions in each other": """
        def f(g):
            return [[lambda: (v, w) for v in w if False] for w in g], [lambda: w + u for u in g for w in u if 0]
    """,
    "an async comprehension": """
        async def f(g):
            return [lambda: w async for w in g if 0]
    """,
    "a variable of the function and of a comprehension that is never run": """
        def f(g):
            for w in g:
                if 0:
                    return [lambda: w for w in g]
            return w
    """,
    "code after a loop without end": """
        def f():
            def g(x):
                while True:
                    x()

                def h():
                    nonlocal x
                    x = 1

            return g
    """,
    "constants that are tested, though they decide nothing": """
        def f(g):
            1j and ... or g
            return 1j and ... or g, (0 or ...) and g()
    """,
}


@pytest.mark.parametrize("title", PROVED)
def test_is_proved(title: str) -> None:
    assert_proved(PROVED[title])


@pytest.mark.parametrize(
    "body",
    [
        "if 0:\n    def f(self): return super().x\nb = 2",
        "'''Doc.'''\nif 0:\n    def f(self): return __class__",
        "x = 1\nwhile True:\n    break\n    def h(self): return super().h()",
        "raise E\na = 1",
        "while True:\n    a()\nb = 2",
        "for i in x:\n    raise E\n    a = 1\nelse:\n    b = 1",
        "if 0:\n    a: int\nb = 1",
    ],
)
def test_a_class_keeps_what_methods_that_are_never_made_need(body: str) -> None:
    result = decompile_frame(compile("class C:\n" + textwrap.indent(body, "    "), "<test>", "exec", dont_inherit=True))
    assert result.proved and result.rung == "idioms", f"{result.verdict}\n{result.source}"
