"""Loops, try and with in each other: control flow that the compiler rearranges."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved

PROVED = {
    "for else continue with a break inside": """
        def f(a):
            for x, y in a:
                for z in b(y):
                    if z:
                        break
                    g(x, z)
                else:
                    continue
                h()
            k()
    """,
    "a for that returns at once": """
        def f():
            for _ in x:
                return
            return 2
    """,
    "a with in a finally": """
        def f(a):
            try:
                b()
            finally:
                with q:
                    z()
    """,
    "an async with in a finally after a call": """
        async def f(a):
            try:
                b()
            finally:
                async with q:
                    z()
    """,
    "a finally that does nothing": """
        def f(a):
            for x in a:
                try:
                    try:
                        g(x)
                    except E as e:
                        h(e)
                finally:
                    pass
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)
