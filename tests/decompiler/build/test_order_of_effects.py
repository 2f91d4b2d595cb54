"""A value is written where it is used if the order of effects allows it, and gets a name if not.

If one of these failed, the text would compute something twice, or in another order than the program.
"""

from __future__ import annotations

import pytest
from build_tools import RETURN_NONE, call, called, const, flat, local, store, text

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Simple

TRUE = Simple("true")


def test_a_value_that_is_used_once_is_written_where_it_is_used():
    assert text(Op("LOAD_GLOBAL", "f"), called("g"), call(1), Op("RETURN")) == "return f(g())"


def test_a_value_that_is_used_twice_gets_a_name_and_is_computed_once():
    assert text(called("g"), Op("COPY", 1), Op("BINARY", "+"), Op("RETURN")).splitlines() == [
        "g_result = g()",
        "return g_result + g_result",
    ]


def test_a_value_is_named_if_another_effect_comes_before_its_use():
    # a.b is read before g() is called, and passed after h().
    ops = flat(local("a"), Op("LOAD_ATTR", "b"), called("g"), Op("POP"), called("h"), Op("BINARY", "+"), Op("RETURN"))
    assert text(ops).splitlines() == ["b_1 = a.b", "g()", "return b_1 + h()"]


def test_effects_in_the_order_of_the_text_need_no_names():
    ops = flat(called("f"), called("g"), Op("BINARY", "+"), called("h"), Op("BINARY", "*"), Op("RETURN"))
    assert text(ops) == "return (f() + g()) * h()"


def test_operands_that_are_swapped_keep_the_order_of_their_effects():
    ops = flat(called("f"), called("g"), Op("SWAP", 2), Op("BINARY", "+"), Op("RETURN"))
    assert text(ops).splitlines() == ["f_result = f()", "return g() + f_result"]


def test_a_silent_value_moves_freely():
    assert text(local("a"), called("g"), Op("SWAP", 2), Op("BINARY", "+"), Op("RETURN")) == "return g() + a"


def test_a_global_read_is_an_effect_unless_the_global_is_constant():
    ops = flat(Op("LOAD_GLOBAL", "G"), called("g"), Op("SWAP", 2), Op("BINARY", "+"), Op("RETURN"))
    assert text(ops).splitlines() == ["G_1 = G", "return g() + G_1"]
    assert text(ops, constant_globals=["G"]) == "return g() + G"


def test_a_temporary_is_deleted_after_its_last_use():
    # The original pops the value before it calls g(): nothing may keep it alive longer.
    ops = flat(called("f"), Op("COPY", 1), Op("LOAD_ATTR", "x"), store("x"), Op("LOAD_ATTR", "y"), store("y"), called("g"))
    assert text(ops, Op("POP"), RETURN_NONE).splitlines() == [
        "f_result = f()",
        "x = f_result.x",
        "y = f_result.y",
        "del f_result",
        "g()",
    ]


def test_a_temporary_is_deleted_before_the_call_that_does_not_get_it():
    ops = flat(Op("LOAD_GLOBAL", "g"), called("f"), Op("COPY", 1), Op("LOAD_ATTR", "x"), store("x"))
    ops += flat(Op("LOAD_ATTR", "y"), call(1), Op("POP"), RETURN_NONE)
    assert text(ops, constant_globals=["g"]).splitlines() == [
        "f_result = f()",
        "x = f_result.x",
        "y_1 = f_result.y",
        "del f_result",
        "g(y_1)",
        "del y_1",
    ]


def test_a_result_that_is_dropped_is_computed_for_its_effect():
    assert text(called("f"), Op("POP"), local("a"), Op("POP"), RETURN_NONE) == "f()"


def test_a_read_that_comes_before_a_change_of_the_variable_sees_the_old_value():
    ops = flat(local("a"), const(1), store("a"), Op("RETURN"))
    assert text(ops).splitlines() == ["a_1 = a", "a = 1", "return a_1"]
    ops = flat(local("a"), Op("COPY", 1), const(1), store("a"), Op("BINARY", "+"), Op("RETURN"))
    assert text(ops).splitlines() == ["a_1 = a", "a = 1", "return a_1 + a_1"]


def test_what_is_still_pending_is_written_before_a_statement():
    ops = flat(called("f"), local("a"), local("b"), Op("STORE_ATTR", "x"), Op("RETURN"))
    assert text(ops).splitlines() == ["f_result = f()", "b.x = a", "return f_result"]


def test_an_operand_of_a_condition_that_needs_a_statement_is_refused():
    # A statement before the expression would compute it on every path.
    with pytest.raises(Unstructured, match="an operand needs statements"):
        text(local("a"), Op("BOOL", ("and", TRUE, [flat(called("f"), Op("COPY", 1), Op("BINARY", "+"))], [])), Op("RETURN"))


def test_operands_on_some_paths_only_are_parts_of_one_expression():
    assert text(local("a"), Op("BOOL", ("and", TRUE, [called("f")], [])), Op("RETURN")) == "return a and f()"
    assert text(local("a"), Op("SELECT", (TRUE, called("f"), [local("b")])), Op("RETURN")) == "return f() if a else b"
    chain = flat(local("a"), called("f"), Op("CHAIN", ("<", [([local("c")], "<=")])), Op("RETURN"))
    assert text(chain) == "return a < f() <= c"


def test_a_stack_that_runs_empty_is_refused():
    with pytest.raises(Unstructured, match="the stack is empty"):
        text(Op("RETURN"))
