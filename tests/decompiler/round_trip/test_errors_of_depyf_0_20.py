"""Functions that depyf 0.20 decompiled wrongly without an error: each comes back right and runs like the original."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Callable, Dict, List, Tuple

import pytest
from decompile_tools import assert_proved, assert_same_text, function_code

import depyf

SAME_TEXT = {
    "a string that is returned": """
        def f():
            return 'abc'
    """,
    "a string as a key": """
        def f(a):
            return {'x': a, 'y': [a]}
    """,
    "del of a variable": """
        def f(x):
            y = x
            del x
            return y
    """,
    "a starred target": """
        def f(x):
            a, *b, c = x
            return a, b, c
    """,
    "conversions and formats in f-strings": """
        def f(x):
            return f'{x!r:>10}-{x}' * 2
    """,
    "augmented assignment to an attribute": """
        def f(x, g):
            x.y += g()
            x[g()] -= 1
            return x
    """,
    "a value that is used twice": """
        def f(g):
            a = b = g()
            return a, b, g() < g() < g()
    """,
    "a docstring": '''
        def f():
            """Says what it does."""
            return f
    ''',
    "keyword-only parameters and defaults of inner functions": """
        def f(a):
            def g(b, c=1, *args, d, e=a, **rest):
                return b, c, args, d, e, rest

            return g
    """,
    "an assertion, an import, a with and a try": """
        def f(a):
            assert a, 'empty'
            from os import path as p
            with a as b:
                try:
                    return p.join(*b)
                except (TypeError, ValueError) as error:
                    raise KeyError(b) from error
                finally:
                    a.close()
    """,
}


@pytest.mark.parametrize("source", SAME_TEXT.values(), ids=SAME_TEXT.keys())
def test_comes_back_as_written(source: str) -> None:
    assert_same_text(source)


class Recorder:
    """Record each read and write of its attribute."""

    def __init__(self) -> None:
        self.log: List[str] = []

    @property
    def y(self) -> int:
        self.log.append("read")
        return 1

    @y.setter
    def y(self, value: int) -> None:
        self.log.append(f"write {value}")


def run_both(source: str, *arguments: Callable[[], Any]) -> Tuple[Any, Any]:
    """Return the results of the function and of its decompilation for fresh arguments."""
    result = assert_proved(source)
    assert result.code is not None
    namespace: Dict[str, Any] = {"len": len}
    original = FunctionType(function_code(source), namespace)
    again = FunctionType(result.code, namespace)
    return original(*[make() for make in arguments]), again(*[make() for make in arguments])


def test_an_attribute_is_stored_once() -> None:
    source = """
        def f(x):
            x.y += 2
            return x.log
    """
    assert run_both(source, Recorder) == (["read", "write 3"], ["read", "write 3"])


def test_an_expression_is_evaluated_once() -> None:
    source = """
        def f(calls):
            a = b = calls.append(1) or [calls]
            return a is b, len(calls)
    """
    assert run_both(source, list) == ((True, 1), (True, 1))


def test_default_values_of_a_function_are_shown() -> None:
    def f(a: Any, b: Any = 3, *, c: Any = "x") -> Any:
        return a, b, c

    text = depyf.decompile(f)
    namespace: Dict[str, Any] = {"Any": Any}
    exec(text, namespace)
    assert namespace["f"](1) == (1, 3, "x")


def test_starred_unpacking_keeps_its_targets() -> None:
    source = """
        def f(x):
            a, *b, c = x
            return a, b, c
    """
    assert run_both(source, lambda: range(5)) == ((0, [1, 2, 3], 4), (0, [1, 2, 3], 4))


@pytest.mark.parametrize("count", [200])
def test_long_chains(count: int) -> None:
    conjunction = " and ".join(f"a[{i}]" for i in range(count))
    assert_proved(f"def f(a):\n    return {conjunction}\n")
    branches = "".join(f"    elif a == {i}:\n        g({i})\n" for i in range(1, count))
    assert_proved(f"def f(a):\n    if a == 0:\n        g(0)\n{branches}    return a\n")
