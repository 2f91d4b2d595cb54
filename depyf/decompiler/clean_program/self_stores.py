"""Self stores: stores of a variable into itself.

Where a function inside shares a variable of the frame, Dynamo reads that variable from its cell and stores it there
again, at once. Nothing happens between the two, so the cell holds afterwards what it held before, and nothing is
released. Only an empty cell would make a difference: the read would raise. When Dynamo traced the frame the variable
had a value, and `Assumption.SHARED_VARIABLES_BOUND` states that it still has one. Then the two can be left out.
"""

from __future__ import annotations

from typing import List

from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.clean_program.invented_locals import without


def self_stores(program: Program) -> List[int]:
    """Return the indices of reads that a store to the same variable directly follows on every path."""
    ops = program.ops
    if "STORE_CELL" not in op_kinds(program):
        return []
    found = [
        index
        for index in range(len(ops) - 1)
        if ops[index].kind == "LOAD_CELL"
        and ops[index + 1].kind == "STORE_CELL"
        and ops[index].arg == ops[index + 1].arg
    ]
    if not found:
        return found
    targets = {op.target for op in ops} | {handler.target for handler in program.handlers}
    return [index for index in found if index + 1 not in targets]


def without_self_stores(program: Program) -> Program:
    """Return the program without its self stores."""
    found = self_stores(program)
    return without(program, {place for index in found for place in (index, index + 1)}) if found else program
