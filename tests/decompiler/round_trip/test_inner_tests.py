"""Tests of `(a or b) or c`: 3.14 leaves those in the parentheses out of every handler around them."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, function_code

from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.decode import decode, problem
from depyf.decompiler.prove import prove

PROVED = {
    "in a with statement": """
        def f(a, b):
            with a as d:
                c = ((b or d) or a.x) or a.y
            return c
    """,
    "in a try statement in a loop": """
        def f(a, b):
            while a():
                try:
                    c = b and (a and b and c) and b(a)
                except E:
                    c = (a or b) or (b and a) and c
                finally:
                    (a and (b or a and a) or b)
    """,
    "in a generator": """
        def f(a, b):
            c = yield (a and b) and (a or b) or c
            try:
                yield (a or c) or b
            except* E:
                yield a
    """,
    "in a coroutine": """
        async def f(a, b):
            async with (a or b) or a() as c:
                return ((await c and b) and a)
    """,
}


@pytest.mark.parametrize("title", PROVED)
def test_is_proved(title: str) -> None:
    assert_proved(PROVED[title])


@pytest.mark.skipif(not RUNNING.threaded_tests_lose_handlers, reason="every test is under the handlers around it")
@pytest.mark.parametrize("around", ["with g:", "try:", "if 1:"])
def test_what_is_outside_of_a_handler_is_not_proved_equal_to_what_is_inside(around: str) -> None:
    end = "\n except E: pass" if around == "try:" else ""
    ours, other = (
        function_code(f"def f(a, b, c):\n {around}\n  d = {text}{end}\n yield d") for text in ("(a or b) or c", "a or b or c")
    )
    assert problem(ours) is None and problem(other) is None
    assert not prove(ours, other).holds and prove(ours, ours).holds
    if around == "if 1:":
        assert [op.arg for op in decode(ours).ops if op.kind == "TO_BOOL"] == ["outside", None]
