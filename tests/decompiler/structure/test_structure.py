"""Structure: a graph becomes nested statements, or the next rung is tried; nothing in between."""

from __future__ import annotations

import pytest
from hand_built import graph_text, tree_text, undone

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.fold import fold
from depyf.decompiler.structure import as_machine, structure

IF = """
    LOAD_LOCAL a
    BRANCH_FALSE other
    LOAD_LOCAL x
    POP
    JUMP end
other:
    LOAD_LOCAL y
    POP
end:
    CONST None
    RETURN
"""
WHILE = """
test:
    LOAD_LOCAL a
    BRANCH_FALSE end
    LOAD_LOCAL x
    POP
    JUMP test
end:
    CONST None
    RETURN
"""
FOR = """
    LOAD_LOCAL y
    GET_ITER
next:
    FOR_ITER end
    STORE_LOCAL x
    LOAD_LOCAL x
    BRANCH_TRUE leave
    JUMP next
leave:
    POP
    JUMP after
end:
    CONST 1
    STORE_LOCAL z
after:
    CONST None
    RETURN
"""
EXCEPT = """
    LOAD_LOCAL a  !h
    POP           !h
last:
    CONST None
    RETURN
h:
    PUSH_EXC_INFO
    LOAD_GLOBAL E
    CHECK_EXC_MATCH
    BRANCH_FALSE again
    POP
    LOAD_LOCAL b
    POP
    POP_EXCEPT
    JUMP last
again:
    RERAISE 0
"""
INTO_THE_LOOP = """
    LOAD_LOCAL a
    BRANCH_TRUE middle
first:
    LOAD_LOCAL x
    POP
middle:
    LOAD_LOCAL y
    BRANCH_TRUE first
    CONST None
    RETURN
"""
CLEAN = {"h": ("h", 0, False)}


def folded(text, **arguments):
    return fold(undone(text, **arguments))


def lines(text, **arguments):
    return tree_text(structure(folded(text, **arguments)))


def test_two_ways_that_meet_again_are_an_if_with_an_else():
    assert lines(IF) == [
        "LOAD_LOCAL a",
        "if top:",
        "    LOAD_LOCAL x",
        "    POP",
        "else:",
        "    LOAD_LOCAL y",
        "    POP",
        "CONST None",
        "RETURN",
    ]


def test_a_test_at_the_head_of_a_loop_is_a_while():
    assert lines(WHILE) == ["while LOAD_LOCAL a: top:", "    LOAD_LOCAL x", "    POP", "CONST None", "RETURN"]


def test_a_way_out_past_the_end_of_a_for_is_a_break_and_leaves_an_else():
    assert lines(FOR) == [
        "LOAD_LOCAL y",
        "GET_ITER",
        "for:",
        "    STORE_LOCAL x",
        "    LOAD_LOCAL x",
        "    if not top:",
        "    else:",
        "        POP",
        "        break",
        "else:",
        "    CONST 1",
        "    STORE_LOCAL z",
        "CONST None",
        "RETURN",
    ]


def test_a_handler_that_tests_its_exception_is_an_except_clause():
    assert lines(EXCEPT, handlers=CLEAN) == [
        "try:",
        "    LOAD_LOCAL a",
        "    POP",
        "except LOAD_GLOBAL E:",
        "    LOAD_LOCAL b",
        "    POP",
        "    POP_EXCEPT",
        "CONST None",
        "RETURN",
    ]


def test_a_loop_with_two_entries_has_no_statement():
    with pytest.raises(Unstructured, match="two places"):
        structure(folded(INTO_THE_LOOP))


def test_a_loop_with_two_entries_is_a_state_machine():
    text = tree_text(as_machine(folded(INTO_THE_LOOP)))
    assert "machine of 2:" in text and text.count("    arm:") == 2
    assert sum(line.strip() == "goto" for line in text) >= 2


def test_a_pattern_is_a_case_and_not_a_row_of_tests():
    text = """
        LOAD_LOCAL a
        COPY 1
        CONST 1
        COMPARE ==
        BRANCH_FALSE other
        POP
        CONST 2
        RETURN
    other:
        MATCH_SEQUENCE
        BRANCH_FALSE none
        GET_LEN
        CONST 0
        COMPARE ==
        BRANCH_FALSE none
        POP
        CONST 3
        RETURN
    none:
        POP
        CONST None
        RETURN
    """
    assert sum(line.strip() == "casenode" for line in lines(text)) == 1


@pytest.mark.parametrize("door", [structure, as_machine])
def test_both_doors_take_the_graph_over_so_that_nobody_reads_one_that_changed(door):
    protected = folded(EXCEPT, handlers=CLEAN)
    door(protected)
    with pytest.raises(AttributeError):
        graph_text(protected.graph)
