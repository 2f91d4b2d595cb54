"""Comprehensions in functions: code objects of their own on 3.11, inlined from 3.12 on."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION

SAME_TEXT = {
    "with conditions that constants make shorter": """
        def f(a, c, y):
            return [x for x in y if not (a or c and False) or a], [x for x in y if (a or c and False) and a]
    """,
    "with a condition that always holds": """
        def f(a, y):
            return [a for z in y if g(z) or True], any(a for z in y if z and a and False or a)
    """,
    "over one value, to give it a name": """
        def f(y):
            return [w for v in y for w in [v * 2]], {w: z for v in y if v for w, z in [(v, v.b)] if w}
    """,
    "over one value, in a generator and a set": """
        def f(y):
            return sum(w for v in y for w in [v]), {w for v in y for w.x in [g(v)]}
    """,
    "with a condition that is never true": """
        def f(y):
            return [None for a in y if False], {None: None for a in y if a for b in a if False}
    """,
    "one whose variable the next one captures": """
        def f(y, z):
            a = [[z for j in i] for i in y]
            return [i for i in z if (i for j in y)], a
    """,
    "without variables of its own": """
        def f(y):
            try:
                return [0 for y.x in g(y) if c or d], {a for () in g()}, [[1 for a.b in c] for c[0] in y]
            except ValueError:
                return y or {a.b: 1 for a.b in y}
    """,
    "a list": """
        def f(y):
            r = [x for x in y]
            return r
    """,
    "a dict of pairs": """
        def f(y):
            return {k: v for k, v in y if v}
    """,
    "conditions and chained comparisons": """
        def f(y, z):
            return {a for b in y for a in b if z and not a}
    """,
    "as an argument among others": """
        def f(y, z):
            return g(z, [x for x in y if x], {k for k in z}, x)
    """,
    "as a test": """
        def f(y):
            if y and not [x for x in y]:
                return 2
            while [x for x in y]:
                g()
            assert all([x for x in y]), [z for z in y]
            return [x for x in y][0] if y else {x for x in y}
    """,
    "in itself": """
        def f(y):
            return {x: [z for z in x if not z] for x in y for t in x if t or x}
    """,
    "over another": """
        def f(y):
            return [a for a in [b for b in y]]
    """,
    "a variable that shadows a local": """
        def f(x, y):
            a = x
            q = [x for x in y], x
            x = [x for x in y]
            return a, q, x
    """,
    "assignment expressions inside": """
        def f(x, y):
            return [x := u for u in y], x
    """,
    "elements that are displays with stars": """
        def f(y):
            return [[*a, b] for a, b in y], {(*a, 1) for a in y}
    """,
    "as a statement, in a with and in a for": """
        def f(y):
            with y as z:
                [x for x in z]
            for a in [x for x in y]:
                yield [b for b in a]
    """,
    "four variables": """
        def f(y):
            return [a for a, b in y for c in b for d in c]
    """,
    "in a finally": """
        def f(y):
            try:
                g()
            finally:
                h([x for x in y if x])
    """,
    "alternatives": """
        def f(y):
            return [x for x in y] or [q if q else q and y for q in [w for w in y] if any([t for t in q])]
    """,
    "asynchronous": """
        async def f(y):
            return [x async for x in y if x], {k: await v async for k, v in y for z in k}
    """,
    "unpacked at once": """
        def f(y):
            a, b = [x for x in y]
            return b, a
    """,
}

PROVED = {
    "into globals": """
        def f(y):
            global G
            x[[a for a in y][0]] += [b for b in y]
            return f"{[G for G in y]!r}"
    """,
    "a variable that a function inside captures": """
        def f(y):
            return [lambda: x for x in y]
    """,
    "a variable that functions inside and outside capture": """
        def f(y):
            x = 1
            r = {k: v for k, v in [lambda: x for x in y]}
            h = lambda: x
            return r, x
    """,
    "a variable that only a function outside captures": """
        def f(x, y):
            k = lambda: x
            return [x + 1 for x in y], x
    """,
    "captured in two that are nested": """
        def f(y):
            return [lambda: x for x in y if [x for x in y if (lambda: (x, z)) for z in y]]
    """,
}


# Before 3.9 a loop over one value has no code of its own: lists that loops iterate over are compiled as tuples.
NEED_ASSIGNMENTS = {"over one value, to give it a name", "over one value, in a generator and a set"}


@pytest.mark.parametrize("title", SAME_TEXT)
def test_comes_back_as_written(title: str) -> None:
    if RUNNING_VERSION >= (3, 9) or title not in NEED_ASSIGNMENTS:
        assert_same_text(SAME_TEXT[title])
    else:
        assert_proved(SAME_TEXT[title])


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)
