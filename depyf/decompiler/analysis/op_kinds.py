"""The kinds of micro-ops that a program has, and which names and code objects they have as arguments."""

from __future__ import annotations

from types import CodeType
from typing import Dict, FrozenSet, List, Set

from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.microops import Program


@answered_once
def op_kinds(program: Program) -> FrozenSet[str]:
    """Return the kind of every op."""
    return frozenset([op.kind for op in program.ops])


def has_name(program: Program, kinds: FrozenSet[str], name: str) -> bool:
    """Return whether an op of one of these kinds has this name as its argument."""
    found = _names(program)
    return any(name in found.get(kind, ()) for kind in kinds)


@answered_once
def _names(program: Program) -> Dict[str, Set[str]]:
    """Return kind of op -> the strings that such ops have as arguments."""
    found: Dict[str, Set[str]] = {}
    for op in program.ops:
        if type(op.arg) is str:
            found.setdefault(op.kind, set()).add(op.arg)
    return found


@answered_once
def made_inside(program: Program) -> List[CodeType]:
    """Return the code objects that ops load."""
    return [op.arg for op in program.ops if op.kind == "CONST" and isinstance(op.arg, CODE_TYPES)]
