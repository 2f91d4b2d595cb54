"""Structure: the folded graph -> a region tree of statements.

The dominator tree gives the place of each block (Ramsey, "Beyond Relooper", ICFP 2022): a block that several
others lead to is placed after the statement that dominates it, any other where it is reached. Control that
reaches the place where a sequence ends anyway just falls there; the head of the loop around is `continue`,
what comes after it is `break`. What fits none of these raises `Unstructured`, and the next rung of the ladder
is tried. Work is kept on an explicit stack: the depth of the program does not matter.
"""

from __future__ import annotations

from depyf.decompiler.flow.regions import ProtectedGraph
from depyf.decompiler.structure.match_blocks import recognise_matches
from depyf.decompiler.structure.region_tree import (
    CaseNode,
    Clause,
    Expect,
    Goto,
    IfNode,
    Item,
    Leave,
    LoopNode,
    MachineNode,
    Sequence,
    Settle,
    TryNode,
    WithNode,
    parts,
)
from depyf.decompiler.structure.state_machine import machines_of
from depyf.decompiler.structure.statement_regions import statements_of

__all__ = [
    "CaseNode",
    "Clause",
    "Expect",
    "Goto",
    "IfNode",
    "Item",
    "Leave",
    "LoopNode",
    "MachineNode",
    "Sequence",
    "Settle",
    "TryNode",
    "WithNode",
    "as_machine",
    "parts",
    "structure",
]


def structure(protected: ProtectedGraph, *, flags: bool = False) -> Sequence:
    """Return the region tree of a graph, as nested statements.

    Enters: a graph as `fold` returns it; it is spent. `flags`: a local variable may record how a `with` ended,
    where no statement leads both ways. Leaves: a tree in which every op has its place in a statement. Raises
    Unstructured for jumps that no statement makes.
    """
    graph, regions = protected.graph.hand_over(), protected.regions
    recognise_matches(graph)
    return statements_of(graph, regions, flags)


def as_machine(protected: ProtectedGraph) -> Sequence:
    """Return the region tree of a graph, with a state machine wherever several ways lead to one block.

    Enters and leaves: as for `structure`. Raises Unstructured where a statement is entered in its middle.
    """
    graph, regions = protected.graph.hand_over(), protected.regions
    recognise_matches(graph)
    return machines_of(graph, regions)
