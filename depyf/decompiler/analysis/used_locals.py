"""Which locals a program uses: code that a generator made from other code keeps names that it has no use for."""

from __future__ import annotations

from typing import FrozenSet

from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.microops import Program, parameters

_USES = frozenset({
    "LOAD_LOCAL", "STORE_LOCAL", "DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR", "LOAD_CELL", "STORE_CELL", "DELETE_CELL",
    "SAVE_CELL", "RENEW_CELL", "LOAD_CLOSURE",
})  # fmt: skip


@answered_once
def used_locals(program: Program) -> FrozenSet[str]:
    """Return the parameters, and the variables that some instruction names."""
    return frozenset([op.arg for op in program.ops if op.kind in _USES]).union(parameters(program.code))
