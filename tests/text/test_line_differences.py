"""Ranges in which two texts differ: what is outside of them is the same, and little is inside."""

from __future__ import annotations

import random

from depyf.text.line_differences import differing_ranges


def rebuilt(before, now):
    """Return the later text, made of the earlier one and the ranges."""
    found, position = [], 0
    for i1, i2, j1, j2 in differing_ranges(before, now):
        assert i1 < i2 or j1 < j2
        found += before[position:i1] + now[j1:j2]
        position = i2
    return found + before[position:]


def test_the_later_text_follows_from_the_earlier_one_and_the_ranges():
    draw = random.Random(3)
    for _ in range(300):
        before = [draw.choice("abcdefghij") for _ in range(draw.randrange(25))]
        now = [line for line in before if draw.random() < 0.8]
        for _ in range(draw.randrange(4)):
            now.insert(draw.randrange(len(now) + 1), draw.choice("abkl"))
        assert rebuilt(before, now) == now


def test_a_line_that_came_and_one_that_moved_are_all_that_differs():
    before = [f"x{number}" for number in range(50)]
    now = [*before[:10], "new", *before[10:30], *before[31:], before[30]]
    assert differing_ranges(before, now) == [(10, 10, 10, 11), (30, 31, 31, 31), (50, 50, 50, 51)]
    assert differing_ranges(before, before) == []
