"""Runs of ops that cannot raise: they may be written inside a protected region as well as after it."""

from __future__ import annotations

from typing import FrozenSet, List

from depyf.decompiler.bytecode.microops import Op

# Ops that cannot raise: a return made of these may be written inside the region that it leaves.
SILENT = frozenset({
    "CONST", "LOAD_LOCAL", "POP", "SWAP", "COPY", "RETURN", "POP_EXCEPT", "BUILD_TUPLE", "LOAD_CLOSURE",
})  # fmt: skip

# A value that a region returns is computed inside it. (Reading a local can raise.)
RETURNING = frozenset({"CONST", "POP", "SWAP", "COPY", "RETURN", "POP_EXCEPT"})


def made_of(ops: List[Op], kinds: FrozenSet[str]) -> bool:
    """Return whether the ops are of these kinds only, except `e = None; del e` at the end of an `except` clause."""
    position = 0
    while position < len(ops):
        three = ops[position : position + 3]
        if len(three) == 3 and three[0].kind == "CONST" and three[0].arg is None and three[1].kind.startswith("STORE_"):
            if three[2].kind == three[1].kind.replace("STORE", "DELETE") and three[1].arg == three[2].arg:
                position += 3
                continue
        if three[0].kind not in kinds:
            return False
        position += 1
    return True
