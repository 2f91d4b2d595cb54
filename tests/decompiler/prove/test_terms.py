"""Terms: two values get one number exactly when no program can distinguish them, or the proof would be wrong."""

from __future__ import annotations

import math
import struct

import pytest

from depyf.decompiler.prove.terms import BOOL, DEEPEST, ONE, UNBOUND, Terms

NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]

DIFFERENT = [(1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), ((1,), (True,)), (math.nan, NAN), (0j, -0j), (None, False)]
SAME = [(1, 1), ("ab", "".join(["a", "b"])), (math.nan, float("nan")), ((1, (2.0,)), (1, (2.0,))), (2**70, 2**70)]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_constants_that_a_program_can_distinguish_are_two_terms(one, other):
    terms = Terms()
    assert terms.const(one) != terms.const(other)


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_constants_of_the_same_type_and_bits_are_one_term(one, other):
    terms = Terms()
    assert terms.const(one) == terms.const(other)


def test_other_objects_are_compared_by_identity():
    terms, one, other = Terms(), [], []
    assert terms.const(one) == terms.const(one) != terms.const(other)


def test_a_set_is_the_same_only_in_the_same_order_of_iteration():
    terms, one, other = Terms(), frozenset([0, 8]), frozenset([8, 0])
    assert list(one) != list(other), "the test needs two orders"
    assert terms.const(one) != terms.const(other)


def test_a_constant_that_the_codes_hold_twice_has_no_identity_to_rely_on():
    terms = Terms()
    text = "long enough " * 3
    term = terms.const(text)
    assert terms.kinds[term] & ONE
    assert terms.const("".join(list(text))) == term
    assert not terms.kinds[term] & ONE


def test_not_of_not_is_the_value_and_not_true_is_false():
    terms = Terms()
    value = terms.symbol(BOOL)
    assert terms.negated(terms.negated(value)) == value
    assert terms.negated(terms.true) == terms.false


def test_identity_does_not_depend_on_the_order_of_its_operands():
    terms = Terms()
    x, y = terms.symbol(), terms.symbol()
    assert terms.identity(x, y) == terms.identity(y, x) != terms.identity(x, terms.none)


def test_a_tuple_keeps_alive_what_is_inside_it_and_a_number_nothing():
    terms = Terms()
    x, y = terms.symbol(), terms.symbol()
    leaves: dict[int, None] = {}
    terms.leaves(terms.tuple_of((x, terms.tuple_of((y, terms.const(1))))), leaves)
    assert list(leaves) == [x, y]


def test_tuples_nested_beyond_the_limit_are_refused_so_that_walking_terms_may_recurse():
    terms = Terms()
    term = terms.symbol()
    for _ in range(DEEPEST):
        assert not terms.too_deep((term,))
        term = terms.tuple_of((term,))
    assert terms.too_deep((term,))


def test_unbound_is_no_term_of_any_value():
    assert UNBOUND not in [Terms().const(value) for value in (None, 0, "", ())]
