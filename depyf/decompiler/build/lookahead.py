"""What becomes of values on the stack, seen from the ops that follow."""

from __future__ import annotations

from typing import Sequence

from depyf.decompiler.bytecode.microops import STORES, STRUCTURED, Op, depth_needed, stack_effect

# Stores that end a target: how many entries above the value they take.
_TAKES = {**dict.fromkeys(STORES, 0), "STORE_ATTR": 1, "STORE_SUBSCR": 2}


def stored_one_by_one(ops: Sequence[Op], position: int, count: int) -> bool:
    """Whether the ops from `position` on do nothing but store the top `count` values, from the top down.

    The targets may be computed in between, as in `a.b, c[d] = x, y`, and values unpacked.
    """
    above = 0  # entries above the next value to be stored
    while count and position < len(ops):
        op = ops[position]
        position += 1
        if _TAKES.get(op.kind) == above:
            above = 0
            count -= 1
            continue
        if op.kind in ("UNPACK", "UNPACK_EX") and above == 0:
            count += stack_effect(op)[1] - 1
            continue
        structured = STRUCTURED.get(op.kind)
        needed = structured[0] if structured else depth_needed(op)
        if above < needed or op.kind in ("POP", "SWAP", "COPY"):
            return False
        popped, pushed = structured or stack_effect(op)
        above += pushed - popped
    return count == 0
