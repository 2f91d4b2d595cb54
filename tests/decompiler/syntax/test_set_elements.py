"""The elements of a constant set, in an order of which the compiler makes the same set."""

from __future__ import annotations

import random
import time

import pytest

from depyf.decompiler.syntax.literals import MOST_SHUFFLES, iterated_elements, spelled_elements


@pytest.mark.parametrize("constant", [frozenset([-1, -2]), frozenset([-2, -1])])
def test_elements_of_one_hash_keep_their_order(constant):
    assert list(frozenset(spelled_elements(constant))) == list(constant)


def test_a_large_set_takes_no_more_than_linear_time():
    begin = time.process_time()
    assert len(spelled_elements(frozenset(range(30_000)))) == 30_000
    assert time.process_time() - begin < 2


def test_an_integer_too_long_for_decimals_has_a_place():
    assert len(spelled_elements(frozenset([1 << 20_000, 1, "x"]))) == 3


@pytest.mark.parametrize("order", [[0, 8, 1], [8, 0, 1], [16, 8, 0], [1.0, 9, 17, 2], [(0, 1), 5], [-1, -2, 7]])
def test_a_set_to_iterate_over_is_written_so_that_it_iterates_alike(order):
    constant = frozenset(order)
    elements = iterated_elements(constant, False, lambda steps: None)
    assert list(frozenset(elements)) == list(constant)


@pytest.mark.parametrize("seed", range(20))
def test_an_order_is_searched_for_where_neither_is_right(seed):
    constant = frozenset(random.Random(seed).sample(range(0, 4000, 32), 10))  # most share a place in the set
    charged = []
    elements = iterated_elements(constant, True, charged.append)
    if elements is None or list(frozenset(elements)) == list(constant):
        assert charged == [MOST_SHUFFLES] or elements in (list(constant), spelled_elements(constant))
    else:
        raise AssertionError("a set that iterates otherwise was returned")


def test_strings_are_in_the_same_order_in_every_process_unless_it_must_be_exact():
    constant = frozenset(["b", "a", "c"])
    assert iterated_elements(constant, False, lambda steps: None) == ["a", "b", "c"]
    assert list(frozenset(iterated_elements(constant, True, lambda steps: None))) == list(constant)


def test_no_order_is_searched_for_in_a_large_set():
    large = frozenset([number << 20 for number in range(300, 0, -7)])
    charged = []
    found = iterated_elements(large, True, charged.append)
    assert not charged and found in (None, list(large), spelled_elements(large))
