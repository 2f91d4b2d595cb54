"""Lists, tuples, sets and dicts that nothing uses are still made: iterating what they unpack has effects."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text

SAME_TEXT = {
    "a set of what a constant tuple holds": """
        def f():
            {*((),)}
            if {*((),)}:
                x
            return {*(1, 2)}
    """,
    "a display that is only looked at, last in a clause": """
        def f():
            try:
                g
            finally:
                (g,)
    """,
    "a conditional expression that a function stores last": """
        def f(x):
            x.y = g if x else h
    """,
    "displays with unpacking as statements": """
        def f(a, b):
            [*a]
            *a, 1
            1, *a, *b
            {*a}
            {*a, 1}
            {**a}
            {**a, 1: b, **b}
            [a, *b]
            return a
    """,
    "calls in them": """
        def f(a, b):
            [*a(), *b()]
            [a(), *b()]
            {'k': a(), **b()}
            [[*a()], b()]
    """,
    "calls whose results live until the display is made": """
        def f(a, b):
            [a(), b()]
            a(), b()
            {'k': a(), 'l': b()}
            a()
    """,
    "a tuple with unpacking that is unpacked": """
        def f(a):
            if [*(*a,)]:
                return 1
            while [*a]:
                a()
            return [*[*a]]
    """,
    "a set that names an element twice": """
        def f(a):
            return {1, 2, 1}, {a, a}, {0.0, 1, 0.0}, {'a', 'a'}
    """,
}


@pytest.mark.parametrize("title", SAME_TEXT)
def test_comes_back_as_it_was_written(title: str) -> None:
    assert_same_text(SAME_TEXT[title])


def test_a_display_whose_parts_are_computed_on_the_way_to_a_branch() -> None:
    assert_proved("""
        def f(a, b, c):
            [a(), *b, (yield c), *(b if a else c)]
            {'x': a(), **b, 'y': (yield c), **(b or c)}
            (*a, b() if c else a())
    """)
