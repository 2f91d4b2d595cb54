"""The micro-ops that come next, and what they do with the values on the stack."""

from __future__ import annotations

from typing import Sequence

from depyf.decompiler.bytecode.microops import STORES, Op, depth_needed, stack_effect

# Stores that end a target: how many entries above the value they take.
_TAKES = {**dict.fromkeys(STORES, 0), "STORE_ATTR": 1, "STORE_SUBSCR": 2}


class Upcoming:
    """The micro-ops being executed. A handler that executes the ops after its own as well moves `position` on."""

    __slots__ = ("ops", "position")

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        self.position = 0  # of the next op

    @property
    def kind(self) -> str:
        """The kind of the next op; empty at the end."""
        return self.ops[self.position].kind if self.position < len(self.ops) else ""

    def store_one_by_one(self, count: int) -> bool:
        """Return whether the next ops do nothing but store the top `count` values, from the top down.

        The targets may be computed in between, as in `a.b, c[d] = x, y`, and values unpacked.
        """
        ops, position = self.ops, self.position
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
            if above < depth_needed(op) or op.kind == "POP":
                return False
            popped, pushed = stack_effect(op)
            above += pushed - popped
        return count == 0
