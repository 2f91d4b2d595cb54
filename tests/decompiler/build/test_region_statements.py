"""Nodes of the region tree become statements, each with its parts in the right bodies.

If one of these failed, code would run on another path than in the program.
"""

from __future__ import annotations

import sys
import textwrap

import pytest
from build_tools import RETURN_NONE, called, const, flat, local, program, region, store, text

from depyf.decompiler import syntax as s
from depyf.decompiler.build import Settings, build_statements
from depyf.decompiler.bytecode.budget import Budget
from depyf.decompiler.bytecode.microops import Handler, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Both, Case, Simple
from depyf.decompiler.flow.regions import Region
from depyf.decompiler.structure import (
    CaseNode,
    Clause,
    Goto,
    IfNode,
    Leave,
    LoopNode,
    MachineNode,
    TryNode,
    WithNode,
)
from depyf.decompiler.structure.case_patterns import Place


def block(number: int) -> Block:
    return Block(number, Budget(10))


def if_node(then, orelse=(), test=None):
    node = IfNode(test or Simple("true"), 0)
    node.then, node.orelse = region(then), region(orelse)
    return node


def expected(source):
    return textwrap.dedent(source).strip("\n")


def test_if_and_else():
    node = if_node([called("f"), Op("POP")], [called("g"), Op("POP")])
    assert text(local("a"), node, called("h"), Op("POP"), RETURN_NONE) == expected(
        """
        if a:
            f()
        else:
            g()
        h()
        """
    )


@pytest.mark.parametrize(
    "test, wanted",
    [
        (Simple("true", negate=True), "if not a:"),
        (Simple("none"), "if a is None:"),
        (Simple("none", negate=True), "if a is not None:"),
        (Both("or", Simple("true"), [([local("b")], Simple("none"))]), "if a or b is None:"),
    ],
)
def test_tests(test, wanted):
    assert text(local("a"), if_node([called("f"), Op("POP")], test=test), RETURN_NONE).splitlines()[0] == wanted


def test_a_value_that_differs_between_paths_gets_one_name_on_both():
    node = if_node([local("b")], [const(1)])
    assert text(local("a"), node, Op("RETURN")) == expected(
        """
        if a:
            b_1 = b
        else:
            b_1 = 1
        return b_1
        """
    )


def test_paths_that_meet_with_different_stacks_are_refused():
    with pytest.raises(Unstructured, match="different stacks"):
        text(local("a"), if_node([const(1)], []), Op("RETURN"))


def loop(kind, body, orelse=(), head=(), test=None):
    node = LoopNode(kind, 0)
    node.body, node.orelse, node.head, node.test = region(body), region(orelse), list(head), test
    return node


def test_a_for_loop_stores_its_item_first():
    node = loop("for", [Op("UNPACK", 2), store("x"), store("y"), called("f"), Op("POP")], [called("g"), Op("POP")])
    assert text(local("a"), Op("GET_ITER"), node, RETURN_NONE) == expected(
        """
        for x, y in a:
            f()
        else:
            g()
        """
    )


def test_a_for_loop_whose_item_is_used_before_it_is_stored_is_refused():
    with pytest.raises(Unstructured):
        text(local("a"), Op("GET_ITER"), loop("for", [Op("LOAD_ATTR", "x"), store("x")]), RETURN_NONE)


def test_a_while_loop_computes_its_test_each_time():
    node = loop("while", [if_node([Leave("break", 0)]), called("g"), Op("POP")], head=called("f"), test=Simple("true"))
    node.body.items.insert(0, local("b"))
    assert text(node, RETURN_NONE) == expected(
        """
        while f():
            if b:
                break
            g()
        """
    )


def test_what_follows_a_loop_without_end_is_reached_only_by_a_break():
    assert text(loop("while", [called("f"), Op("POP")])) == "while True:\n    f()"


def test_try_with_its_clauses_and_finally():
    inner = TryNode(Region(0, "except", block(1), 0), 0)
    inner.body = region(called("f"), Op("POP"))
    clause = Clause([Op("LOAD_GLOBAL", "G")], store("x"), block(1), 0)
    clause.body = region(called("g"), Op("POP"), Op("POP_EXCEPT"))
    inner.clauses = [clause]
    outer = TryNode(Region(1, "finally", block(2), 0), 0)
    outer.body, outer.final = region(inner), region(called("h"), Op("POP"), Op("POP"), Op("POP"))
    handlers = [Handler(0, 0, False), Handler(0, 0, False)]
    assert text(outer, RETURN_NONE, handlers=handlers) == expected(
        """
        try:
            f()
        except G as x:
            g()
        finally:
            h()
        """
    )


def test_with_takes_its_value_first():
    node = WithNode(Region(0, "with", block(1), 1), False, 0)
    node.body = region(store("x"), called("f"), Op("POP"))
    assert text(local("a"), Op("BEFORE_WITH"), node, RETURN_NONE) == "with a as x:\n    f()"
    node.body = region(Op("POP"), called("f"), Op("POP"))
    assert text(local("a"), Op("BEFORE_WITH"), node, RETURN_NONE) == "with a:\n    f()"


def test_cases_of_a_match_are_one_statement():
    value, rest = Place(), Place()
    value.become("value", [const(1)])
    rest.become("sequence")
    rest.parts = [Place(), Place()]
    rest.parts[0].names, rest.parts[1].names, rest.star, rest.value = [store("x")], [store("y")], 1, (1, 1)
    first = CaseNode(Case(value, None, True, block(1), block(2)), 0)
    second = CaseNode(Case(rest, ([local("x")], Simple("true")), False, block(3), block(4)), 0)
    first.body = region(Op("POP"), called("f"), Op("POP"))
    second.body = region(called("g"), Op("POP"))
    first.orelse = region(second)
    assert text(local("a"), first, RETURN_NONE) == expected(
        """
        match a:
            case 1:
                f()
            case [x, *y] if x:
                g()
        """
    )


def test_blocks_in_any_order_become_a_state_machine():
    start, end = block(0), block(1)
    start.depth = end.depth = 0
    node = MachineNode(start, 0, True, 0)
    node.arms = [
        (start, region(called("f"), Op("POP"), Goto(end, [0], False, 0))),
        (end, region(RETURN_NONE)),
    ]
    assert text(node) == expected(
        """
        state = 0
        while True:
            if state == 0:
                f()
                state = 1
            else:
                return
        """
    )


def test_statements_may_be_nested_deeper_than_python_recurses():
    inner = flat(called("f"), Op("POP"))
    for _ in range(2 * sys.getrecursionlimit()):
        inner = [local("a"), if_node(inner)]
    settings = Settings({}.__getitem__, {}, lambda name: False, {})
    (outermost,) = build_statements(program(region(RETURN_NONE)), region(inner, RETURN_NONE), settings)
    assert isinstance(outermost, s.If)
