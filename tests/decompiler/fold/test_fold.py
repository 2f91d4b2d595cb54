"""Fold: branches that compute a value become expressions, or every `and` would be four lines of text."""

from __future__ import annotations

import pytest
from hand_built import graph_text, undone

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Both, Keep, Simple
from depyf.decompiler.fold import fold

CONDITIONAL = """
    LOAD_LOCAL a
    BRANCH_FALSE other
    LOAD_LOCAL x
    JUMP after
other:
    LOAD_LOCAL y
after:
    STORE_LOCAL z
    CONST None
    RETURN
"""
AND = """
    LOAD_LOCAL a
    COPY 1
    BRANCH_FALSE after
    POP
    LOAD_LOCAL b
after:
    RETURN
"""
BOTH = """
    LOAD_LOCAL a
    BRANCH_FALSE other
    LOAD_LOCAL b
    BRANCH_FALSE other
    LOAD_LOCAL c
    POP
    JUMP end
other:
    LOAD_LOCAL d
    POP
end:
    CONST None
    RETURN
"""


def folded(text, **options):
    return graph_text(fold(undone(text), **options).graph)


def test_two_ways_that_push_one_value_each_are_a_conditional_expression():
    assert folded(CONDITIONAL) == [
        "0: LOAD_LOCAL a; SELECT (LOAD_LOCAL x if top else LOAD_LOCAL y); STORE_LOCAL z; CONST None; RETURN -> End []"
    ]


def test_a_value_that_is_kept_if_false_is_an_and():
    assert folded(AND) == ["0: LOAD_LOCAL a; BOOL (and top: LOAD_LOCAL b); RETURN -> End []"]


def test_a_value_that_is_kept_if_true_is_an_or():
    assert folded(AND.replace("BRANCH_FALSE", "BRANCH_TRUE")) == [
        "0: LOAD_LOCAL a; BOOL (or top: LOAD_LOCAL b); RETURN -> End []"
    ]


def test_two_tests_with_one_way_out_are_one_test():
    assert folded(BOTH)[0] == "0: LOAD_LOCAL a -> Branch (top and LOAD_LOCAL b:top) [2, 1]"


def test_a_middle_operand_that_stays_on_the_stack_is_a_chained_comparison():
    text = """
        LOAD_LOCAL a
        LOAD_LOCAL b
        SWAP 2
        COPY 2
        COMPARE <
        BRANCH_FALSE clean
        LOAD_LOCAL c
        COMPARE <
        BRANCH_FALSE other
        CONST 1
        RETURN
    clean:
        POP
    other:
        CONST 2
        RETURN
    """
    assert folded(text)[0] == "0: LOAD_LOCAL a; LOAD_LOCAL b; CHAIN (< LOAD_LOCAL c <) -> Branch top [2, 1]"


def test_ways_with_statements_in_them_stay_branches():
    assert folded(CONDITIONAL.replace("LOAD_LOCAL x\n", "CONST 1\nSTORE_LOCAL x\nLOAD_LOCAL x\n"))[0].endswith(
        "LOAD_LOCAL a -> Branch top [2, 1]"
    )


def test_without_expressions_only_straight_lines_are_joined():
    lines = folded(BOTH, expressions=False)
    assert lines[0] == "0: LOAD_LOCAL a -> Branch top [1, 2]"
    assert sum("Branch" in line for line in lines) == 2 and not any("SELECT" in line for line in lines)


def test_folding_takes_the_graph_over_so_that_nobody_reads_one_that_changed():
    protected = undone(BOTH)
    fold(protected)
    with pytest.raises(AttributeError):
        graph_text(protected.graph)


def test_a_compound_test_whose_value_nothing_takes_has_no_expression():
    protected = undone(AND)
    block = protected.graph.entry.successors()[0]
    drop, keep = block.successors()
    block.set_term(Keep(Both("and", Simple("true"), [([], Simple("none"))]), False, keep, drop))
    with pytest.raises(Unstructured):
        fold(protected)
