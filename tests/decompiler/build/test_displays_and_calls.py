"""Containers and arguments are written as displays and calls; lists that code generators juggle with are gone.

If one of these failed, the README's example would show how Dynamo builds lists and takes them apart again.
"""

from __future__ import annotations

import pytest
from build_tools import RETURN_NONE, call, called, const, flat, local, store, text

from depyf.decompiler.bytecode.microops import FROM_STACK, NULL_FIRST, PLAIN, Op


@pytest.mark.parametrize(
    "ops, wanted",
    [
        ([local("a"), local("b"), Op("BUILD_LIST", 2)], "[a, b]"),
        ([local("a"), Op("BUILD_TUPLE", 1)], "(a,)"),
        ([local("a"), local("b"), Op("BUILD_SET", 2)], "{a, b}"),
        ([Op("BUILD_SET", 0)], "{*()}"),
        ([const("k"), local("a"), Op("BUILD_MAP", 1)], "{'k': a}"),
        ([local("a"), local("b"), const(("k", "l")), Op("BUILD_CONST_KEY_MAP", 2)], "{'k': a, 'l': b}"),
        ([Op("BUILD_LIST", 0), const((1, 2)), Op("LIST_EXTEND", 1)], "[1, 2]"),
        ([Op("BUILD_LIST", 0), local("a"), Op("LIST_EXTEND", 1), local("b"), Op("LIST_APPEND", 1)], "[*a, b]"),
        ([Op("BUILD_MAP", 0), local("a"), Op("DICT_UPDATE", 1)], "{**a}"),
        ([local("a"), const(1), const(None), Op("BUILD_SLICE", 2), Op("SUBSCR")], "a[1:]"),
        ([const("is "), local("a"), Op("FORMAT", ("r", False)), Op("BUILD_STRING", 2)], "f'is {a!r}'"),
        ([local("a"), const(">4"), Op("FORMAT", ("", True))], "f'{a:>4}'"),
    ],
)
def test_displays_and_strings(ops, wanted):
    assert text(ops, Op("RETURN")) == f"return {wanted}"


@pytest.mark.parametrize(
    "ops, wanted",
    [
        ([local("a"), local("b"), local("c"), call(2)], "a(b, c)"),
        ([local("a"), local("b"), local("c"), call(2, ("k",))], "a(b, k=c)"),
        ([local("a"), local("b"), const(("k",)), Op("CALL", (1, FROM_STACK, PLAIN))], "a(k=b)"),
        ([Op("PUSH_NULL"), local("a"), local("b"), Op("CALL", (1, None, NULL_FIRST))], "a(b)"),
        ([local("a"), local("b"), Op("CALL_EX", (False, PLAIN))], "a(*b)"),
        ([local("a"), local("b"), local("c"), Op("CALL_EX", (True, PLAIN))], "a(*b, **c)"),
        (
            [local("a"), const(()), const("k"), local("b"), Op("BUILD_MAP", 1), local("c"), Op("DICT_MERGE", 1)]
            + [Op("CALL_EX", (True, PLAIN))],
            "a(k=b, **c)",
        ),
    ],
)
def test_calls(ops, wanted):
    assert text(ops, Op("RETURN")) == f"return {wanted}"


def test_arguments_that_were_gathered_in_a_fresh_list_are_arguments():
    ops = flat(local("a"), local("b"), local("c"), Op("BUILD_LIST", 2), Op("LIST_TO_TUPLE"), Op("CALL_EX", (False, PLAIN)))
    assert text(ops, Op("RETURN")) == "return a(b, c)"


@pytest.mark.parametrize(
    "ops, wanted",
    [
        ([local("a"), local("b"), Op("BUILD_LIST", 2), const(0), Op("SUBSCR")], "a"),
        ([local("a"), local("b"), Op("BUILD_LIST", 2), const(slice(1, None)), Op("SUBSCR")], None),
        ([local("a"), local("b"), Op("BUILD_LIST", 2), const(1), const(None), Op("BUILD_SLICE", 2), Op("SUBSCR")], "[b]"),
        ([local("a"), local("b"), Op("BUILD_LIST", 2), Op("UNPACK", 2), Op("BINARY", "-")], "b - a"),
        ([local("a"), Op("BUILD_LIST", 1), Op("COPY", 1), const(0), Op("DELETE_SUBSCR")], "[]"),
        ([local("a"), Op("BUILD_LIST", 1), local("b"), Op("COPY", 2), const(0), Op("STORE_SUBSCR")], "[b]"),
    ],
)
def test_operations_on_a_list_that_nothing_else_refers_to_leave_no_trace(ops, wanted):
    if wanted is None:
        assert "[" in text(ops, Op("RETURN"), is_generated=True)  # a slice object is no syntax: the operation stays
    else:
        assert text(ops, Op("RETURN"), is_generated=True) == f"return {wanted}"


def test_an_element_that_has_an_effect_is_not_lost_with_its_list():
    ops = flat(called("f"), local("a"), Op("BUILD_LIST", 2), const(1), Op("SUBSCR"), Op("RETURN"))
    assert text(ops) == "return [f(), a][1]"


def test_a_list_that_is_stored_and_used_is_made_once():
    ops = flat(local("a"), Op("BUILD_LIST", 1), Op("COPY", 1), store("b"), store("c"), RETURN_NONE)
    assert text(ops) == "b = c = [a]"


def test_operators_that_the_compiler_would_fold_otherwise_are_kept():
    # `"%s" % (a,)` would become an f-string, which calls other code.
    assert text(const("%s"), local("a"), Op("BUILD_TUPLE", 1), Op("BINARY", "%"), Op("RETURN")) == "return f'%s' % (a,)"
