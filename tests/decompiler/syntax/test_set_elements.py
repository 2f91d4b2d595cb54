"""The elements of a constant set, in an order of which the compiler makes the same set."""

from __future__ import annotations

import time

import pytest

from depyf.decompiler.syntax.literals import spelled_elements


@pytest.mark.parametrize("constant", [frozenset([-1, -2]), frozenset([-2, -1])])
def test_elements_of_one_hash_keep_their_order(constant):
    assert list(frozenset(spelled_elements(constant))) == list(constant)


def test_a_large_set_takes_no_more_than_linear_time():
    begin = time.process_time()
    assert len(spelled_elements(frozenset(range(30_000)))) == 30_000
    assert time.process_time() - begin < 2


def test_an_integer_too_long_for_decimals_has_a_place():
    assert len(spelled_elements(frozenset([1 << 20_000, 1, "x"]))) == 3
