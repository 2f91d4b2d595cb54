"""The kinds of micro-ops that a program has."""

from __future__ import annotations

from typing import FrozenSet

from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.microops import Program


@answered_once
def op_kinds(program: Program) -> FrozenSet[str]:
    """Return the kind of every op."""
    return frozenset([op.kind for op in program.ops])
