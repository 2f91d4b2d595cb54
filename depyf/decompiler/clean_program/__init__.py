"""Clean the program: a Program -> one without what only a code generator put there.

STORE_LOCAL tmp_3; ...; DELETE_LOCAL tmp_3     ->     POP; ...         where tmp_3 is the generator's and is never read
"""

from __future__ import annotations

from typing import Collection

from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.clean_program.invented_locals import (
    drop_clears_of_unbound,
    drop_final_deletes,
    drop_unread_locals,
    read_through_aliases,
    store_before_deletes,
)
from depyf.decompiler.clean_program.self_stores import without_self_stores

__all__ = ["clean_program"]


def clean_program(program: Program, own_locals: Collection[str] = (), *, drops_self_stores: bool = False) -> Program:
    """Return the program without stores, deletes and aliases that only its generator needed.

    Enters: a program as `decode` returns it; it is not changed. `own_locals` are the locals that the generator
    invented. `drops_self_stores`: a shared variable that is stored into itself keeps its value, an assumption that the
    proof states. Leaves: a program of the same code object; itself where no op is the generator's. Raises nothing.
    """
    program = drop_clears_of_unbound(program)
    if drops_self_stores:
        program = without_self_stores(program)
    if own_locals:
        own_locals = frozenset(own_locals)
        program = drop_unread_locals(read_through_aliases(program, own_locals), own_locals)
        program = store_before_deletes(drop_final_deletes(program, own_locals), own_locals)
    return program
