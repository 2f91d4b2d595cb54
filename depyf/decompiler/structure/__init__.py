"""Structure: the folded graph -> a region tree of statements.

The dominator tree says where code belongs (Ramsey, "Beyond Relooper", ICFP 2022): a block that several
others lead to is placed after the statement that dominates it, any other where it is reached. Control that
reaches the place where a sequence ends anyway just falls there; the head of the loop around is `continue`,
what comes after it is `break`. What fits none of these raises `Unstructured`, and the next rung of the ladder
is tried. Work is kept on an explicit stack: the depth of the program does not matter.
"""

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
from depyf.decompiler.structure.state_machine import as_machine
from depyf.decompiler.structure.statement_regions import structure

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
