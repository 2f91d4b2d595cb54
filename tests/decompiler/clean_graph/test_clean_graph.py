"""Clean the graph: what the compiler copied is one again, or the text would repeat what its author wrote once."""

from __future__ import annotations

import pytest
from hand_built import graph_text, no_tree, program, undone

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.clean_graph import Comprehension, clean_graph
from depyf.decompiler.flow import build_graph

FINALLY = """
    LOAD_LOCAL a  !h
    POP           !h
    LOAD_LOCAL b
    POP
    CONST None
    RETURN
h:
    PUSH_EXC_INFO
    LOAD_LOCAL b
    POP
    RERAISE 0
"""
WITH = """
    LOAD_LOCAL m
    BEFORE_WITH
    POP           !h
    LOAD_LOCAL a  !h
    POP           !h
    CONST None
    CONST None
    CONST None
    CALL (2, None, 'null second')
    POP
    CONST 1
    RETURN
h:
    PUSH_EXC_INFO
    WITH_EXCEPT_START
    BRANCH_TRUE swallowed
    RERAISE 2
swallowed:
    POP
    POP_EXCEPT
    POP
    POP
    CONST 1
    RETURN
"""
COMPREHENSION = """
    LOAD_LOCAL y
    GET_ITER
    LOAD_LOCAL_AND_CLEAR x
    SWAP 2
    BUILD_LIST 0      !h
    SWAP 2            !h
loop:
    FOR_ITER done     !h
    STORE_LOCAL x     !h
    LOAD_LOCAL x      !h
    LIST_APPEND 2     !h
    JUMP loop         !h
done:
    SWAP 2
    STORE_LOCAL x
    RETURN
h:
    SWAP 2
    POP
    SWAP 2
    STORE_LOCAL x
    RERAISE 0
"""
CLEAN = {"h": ("h", 0, False)}


def test_the_copy_of_a_finally_body_is_gone_from_the_way_out():
    graph, (region,) = undone(FINALLY, handlers=CLEAN)
    assert region.kind == "finally"
    text = "\n".join(graph_text(graph))
    assert text.count("LOAD_LOCAL b") == 1 and "CONST None; RETURN" in text


def test_a_copy_that_differs_from_the_finally_body_is_not_taken_for_it():
    with pytest.raises(Unstructured, match="differ"):
        undone(FINALLY.replace("LOAD_LOCAL b", "LOAD_LOCAL c", 1), handlers=CLEAN)


def test_the_call_of_the_exit_method_is_part_of_the_with():
    graph, (region,) = undone(WITH, handlers={"h": ("h", 1, True)})
    assert region.kind == "with"
    assert "CALL" not in "\n".join(graph_text(graph))


def test_a_with_that_does_not_call_its_exit_method_is_none():
    with pytest.raises(Unstructured, match="exit method"):
        undone(WITH.replace("CALL (2, None, 'null second')", "BUILD_TUPLE 4"), handlers={"h": ("h", 1, True)})


def test_each_region_is_entered_through_one_guarded_block():
    graph, (region,) = undone(FINALLY, handlers=CLEAN)
    entries = [line for line in graph_text(graph) if "Guarded finally" in line]
    assert len(entries) == 1 and region.guard in graph.blocks


def test_a_region_with_two_entries_has_no_statement():
    text = """
        LOAD_LOCAL c
        BRANCH_TRUE second
        LOAD_LOCAL a  !h
        POP           !h
        JUMP last
    second:
        LOAD_LOCAL b  !h
        POP           !h
    last:
        CONST None
        RETURN
    h:
        PUSH_EXC_INFO
        POP
        POP_EXCEPT
        JUMP last
    """
    with pytest.raises(Unstructured, match="entered in 2 places"):
        undone(text, handlers=CLEAN)


def test_an_inlined_comprehension_becomes_one_op_with_a_tree_of_its_own():
    parts = []
    graph = build_graph(program(COMPREHENSION, parameters=("y",), handlers={"h": ("h", 2, False)}))
    undone_graph, regions = clean_graph(graph, lambda part: parts.append(part) or "the tree")
    (line,) = graph_text(undone_graph)[1:]
    assert line.startswith("1: LOAD_LOCAL y; GET_ITER; COMPREHENSION") and line.endswith("RETURN -> End []")
    assert regions == () and len(parts) == 1 and parts[0].entry_depth == 2
    (op,) = [op for block in undone_graph.blocks for op in block.ops if op.kind == "COMPREHENSION"]
    assert isinstance(op.arg, Comprehension) and op.arg.tree == "the tree" and op.arg.own == {"x"}


def test_copied_ends_are_merged_only_where_they_come_from_one_place_in_the_source():
    text = """
        LOAD_LOCAL a
        BRANCH_TRUE there
        LOAD_LOCAL b  @2
        RETURN        @2
    there:
        LOAD_LOCAL b  @{}
        RETURN        @{}
    """
    same, other = undone(text.format(2, 2)).graph, undone(text.format(3, 3)).graph
    assert [line.count("LOAD_LOCAL b") for line in graph_text(same)].count(1) == 1
    assert [line.count("LOAD_LOCAL b") for line in graph_text(other)].count(1) == 2


def test_the_ends_of_a_module_are_one_block():
    text = "LOAD_NAME a\nBRANCH_TRUE there\nCONST None\nRETURN\nthere:\nLOAD_NAME b\nPOP\nCONST None\nRETURN"
    lines = graph_text(undone(text, is_function=False).graph)
    assert sum("CONST None; RETURN" in line for line in lines) == 1
    assert sum("CONST None; RETURN" in line for line in graph_text(undone(text).graph)) == 2


def test_undoing_takes_the_graph_over_so_that_nobody_reads_one_that_changed():
    graph = build_graph(program(FINALLY, handlers=CLEAN))
    clean_graph(graph, no_tree)
    with pytest.raises(AttributeError):
        graph_text(graph)
