"""Flow: programs become graphs of blocks, or no later stage could find a statement in them."""

from __future__ import annotations

import time

import pytest
from hand_built import graph_text, program

from depyf.decompiler.flow import build_graph
from depyf.decompiler.flow.program_blocks import is_straight
from depyf.decompiler.flow.stack_depths import find_depths

CHOICE = """
    LOAD_LOCAL a
    BRANCH_FALSE other
    CONST 1
    RETURN
other:
    CONST 2
    RETURN
"""
GUARDED = """
    LOAD_LOCAL a  !h
    POP           !h
    CONST None
    RETURN
h:
    PUSH_EXC_INFO
    POP
    POP_EXCEPT
    CONST 1
    RETURN
"""


def test_a_branch_ends_its_block_and_names_both_ways():
    assert graph_text(build_graph(program(CHOICE))) == [
        "0:  -> Jump [1]",
        "1: LOAD_LOCAL a -> Branch top [3, 2]",
        "2: CONST 2; RETURN -> End []",
        "3: CONST 1; RETURN -> End []",
    ]


def test_a_branch_that_jumps_when_true_has_its_ways_swapped():
    graph = build_graph(program(CHOICE.replace("BRANCH_FALSE", "BRANCH_TRUE")))
    assert graph_text(graph)[1:] == [
        "1: LOAD_LOCAL a -> Branch top [3, 2]",
        "2: CONST 1; RETURN -> End []",
        "3: CONST 2; RETURN -> End []",
    ]


def test_blocks_that_only_jump_are_gone():
    graph = build_graph(program("LOAD_LOCAL a\nBRANCH_TRUE there\nJUMP end\nthere:\nJUMP end\nend:\nCONST None\nRETURN"))
    assert graph_text(graph)[1:] == ["1: LOAD_LOCAL a -> Branch top [2, 2]", "2: CONST None; RETURN -> End []"]


def test_a_block_ends_where_the_exception_handler_changes():
    graph = build_graph(program(GUARDED, handlers={"h": ("h", 0, False)}))
    first = graph.entry.successors()[0]
    assert [op.kind for op in first.ops] == ["LOAD_LOCAL", "POP"] and first.handler == 0
    assert graph.handler_block(first.handler).ops[0].kind == "PUSH_EXC_INFO"
    assert first.successors()[0].handler == -1


def test_the_stack_height_of_a_handler_is_the_depth_that_it_cuts_to():
    graph = build_graph(program(GUARDED, handlers={"h": ("h", 0, True)}))
    find_depths(graph)
    assert graph.handler_block(0).depth == 2  # lasti and the exception


def test_building_a_graph_leaves_the_program_as_it_was():
    source = program(CHOICE)
    before = source.listing()
    graph = build_graph(source)
    graph.entry.successors()[0].ops.clear()
    assert source.listing() == before


def test_a_graph_that_was_handed_over_is_spent_and_the_new_one_is_whole():
    graph = build_graph(program(CHOICE))
    before = graph_text(graph)
    other = graph.hand_over()
    assert graph_text(other) == before
    with pytest.raises(AttributeError):
        graph.blocks  # noqa: B018


def test_only_a_program_without_jumps_and_handlers_is_straight():
    assert is_straight(program("LOAD_LOCAL a\nRETURN"))
    assert not is_straight(program(CHOICE))
    assert not is_straight(program(GUARDED, handlers={"h": ("h", 0, False)}))
    assert not is_straight(program("LOAD_LOCAL a\nTO_BOOL\nUNARY not\nRETURN"))


def test_a_long_chain_of_jumps_takes_no_more_than_linear_time():
    """Found in a file of 100 KB that took minutes: each jump was followed to the end of the chain."""
    chain = "".join(f"j{number}:\nJUMP j{number + 1}\n" for number in range(30_000))
    begin = time.process_time()
    graph = build_graph(program(f"{chain}j30000:\nLOAD_LOCAL a\nRETURN"))
    assert len(graph.blocks) == 2 and time.process_time() - begin < 4
