"""Code that the compiler dropped has left traces: generators that never yield, cells that nothing captures."""

from __future__ import annotations

import textwrap

import pytest
from decompile_tools import assert_proved, assert_same_text, function_code

from depyf.decompiler import Grade, decompile_frame
from depyf.decompiler.bytecode.python_facts import RUNNING

SAME_TEXT = {
    "a variable that only dropped code captures": """
        def f(g):
            if False:
                lambda: c
            c = g()
            z = g()
    """,
    "a lambda both of whose results are one": """
        def f():
            return lambda a: a if c else a
    """,
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
    "loops of comprehensions that are never run, over variables of the function": """
        def f(a):
            x = [u for u in d if '' for a in b]
            with [v for u in d if 0.0 for a in h]:
                for a in d:
                    def c(**d):
                        a
    """,
    "an annotation that is not evaluated and makes a cell": """
        async def f(a):
            g.p: (v for u in d if a) = h
            return {u for a in x}
    """,
    "a condition that decides nothing, inside a call, where the frame reads its local names": """
        def f():
            super
            m(h if g or 1j else d)
            b[a if m else d] = d
    """,
    "a variable that is read before it is captured, and has no value": """
        def f():
            b
            if g:
                b = 1
            return {u: b for u in z}
    """,
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
        "try:\n    m or 1.5\nexcept E:\n    pass",
        "d = g if x else h",
    ],
)
def test_a_class_keeps_what_methods_that_are_never_made_need(body: str) -> None:
    result = decompile_frame(compile("class C:\n" + textwrap.indent(body, "    "), "<test>", "exec", dont_inherit=True))
    assert result.proved and result.rung == "idioms", f"{result.verdict}\n{result.source}"


@pytest.mark.parametrize(
    "body",
    [
        "if '':\n    def a(**d): return a\nelse:\n    a",
        "with b as a: pass\nif 0:\n    lambda: a",
        "while True:\n    a = h\nelse:\n    lambda: a",
        "{a for u in c if None}",
        "[u for v in a if None and a]",
        "{u for a in c if u}",
    ],
)
def test_a_class_has_names_of_its_own_though_a_function_around_has_them_too(body: str) -> None:
    source = "def f(a, b):\n    class C:\n" + textwrap.indent(body, " " * 8)
    assert_proved(source + "\n    return C\n")


def test_a_class_in_a_function_that_declares_a_global_for_it() -> None:
    assert_same_text("""
        def f():
            z = b

            def a(**d):
                global z

                class K:
                    x = (u for u in a if z)

                return K

            return a
    """)


@pytest.mark.skipif(not RUNNING.comprehensions_are_inlined, reason="the frame has no variable of the comprehension")
@pytest.mark.parametrize(
    "body",
    [
        "w = a(1)\n b = a(2)\n return\n [-1 for w in w].r\n lambda: b\n lambda: w",
        "return locals()\n [lambda: w for w in a]",
        "x = a()\n w = a(1)\n y = 3\n return locals()\n [1 for w in w].r\n lambda: w",
        "x = [k for k in a]\n w = a(1)\n return k\n [1 for w in w].r\n lambda: w",
        "x = [lambda: k for k in a]\n k = 3\n return [q for q in a], locals()\n [lambda: w for w in a]\n lambda: w",
    ],
)
def test_variables_of_dropped_comprehensions_are_released_in_their_order_when_the_text_runs(body: str) -> None:
    code = function_code(f"def f(a):\n {body}")
    result = decompile_frame(code)
    assert result.verdict.grade is Grade.PROVED, result.source
    text = function_code(result.source)
    assert (text.co_varnames, text.co_cellvars) == (code.co_varnames, code.co_cellvars)
