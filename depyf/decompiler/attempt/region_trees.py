"""From a program to its region tree: the stages flow, clean_graph, fold and structure."""

from __future__ import annotations

from depyf.decompiler.attempt.rung import IDIOMS, Rung
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.clean_graph import clean_graph
from depyf.decompiler.flow import build_graph
from depyf.decompiler.flow.graph import Graph
from depyf.decompiler.flow.program_blocks import is_straight
from depyf.decompiler.fold import fold
from depyf.decompiler.structure import Sequence, as_machine, structure


def region_tree(program: Program, rung: Rung = IDIOMS) -> Sequence:
    """Return the region tree of a program. A function without a jump is its own tree. Raises Unstructured."""
    if program.code.co_flags & CO_OPTIMIZED and not rung.is_machine and is_straight(program):
        return Sequence(list(program.ops))
    graph = build_graph(program)
    blocks = graph.blocks
    tree = _tree(graph, rung)
    for block in blocks:
        block.ops = []  # blocks refer to each other: their ops would wait for the garbage collector
    return tree


def _tree(graph: Graph, rung: Rung) -> Sequence:
    protected = clean_graph(graph, _comprehension_tree)
    folded = fold(protected, expressions=rung.folds_expressions)
    return as_machine(folded) if rung.is_machine else structure(folded, flags=rung.flags)


def _comprehension_tree(part: Graph) -> Sequence:
    """Return the tree of an inlined comprehension: an expression, which only the first rung can write."""
    return _tree(part, IDIOMS)
