"""Borrowed loads (3.14): LOAD_FAST_BORROW pushes a variable's value without a reference of its own.

The variable has to keep the value for as long as it is on the stack. So compilers write such a load only where that is
taken again before a jump, before a handler begins, and before the variable is assigned to; and never to be assigned
(optimize_load_fast in Python/flowgraph.c). Under these rules a borrowed load and any other are the same to a program.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import Op, stack_effect
from depyf.decompiler.decode.code_layout import Layout
from depyf.decompiler.decode.opcodes import CellUses, Translator

_LOADS = frozenset({"LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
# What decoding folds into other micro-ops later: (entries popped, entries pushed).
_EFFECTS: Dict[str, Tuple[int, int]] = {
    "SEND": (1, 1), "RETURN_GENERATOR": (0, 1), "CLEANUP_THROW": (3, 2), "LOAD_SPECIAL": (1, 2), "PUSH_INDEX": (0, 1),
}  # fmt: skip
_CHANGES = frozenset({"STORE_LOCAL", "DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL"})
_ASSIGNS = frozenset({"STORE_LOCAL", "RESTORE_CELL"})


def check_borrowed_loads(layout: Layout, cell_uses: CellUses) -> None:
    """Raise Malformed where the object of a borrowed load may be gone while it is on the stack."""
    if not any(raw.opname in _LOADS for raw in layout.instructions):
        return
    translator = Translator(layout.code, layout.facts, cell_uses)
    for raw in layout.instructions:
        try:
            translator.translate(raw)
        except IndexError:
            raise Malformed(f"{raw.opname} at {raw.offset} uses entry {raw.arg} of a shorter table") from None
    ops = iter([*translator.ops, Op("", offset=-1)])
    op = next(ops)
    stack = _Stack()
    kept = 0  # how many entries the last handler keeps: those that keep fewer find nothing new
    for index, raw in enumerate(layout.instructions):
        handler = layout.handler_at(index)
        is_kept = handler is not None and handler.depth > kept and not _begins_comprehension(layout, index)
        if index in layout.landings or is_kept:
            stack.leave(raw.offset)
        kept = kept if handler is None else handler.depth
        while op.offset == raw.offset:
            stack.execute(op, raw.opname in _LOADS)
            if op.target >= 0:
                stack.leave(raw.offset)
            op = next(ops)


def _begins_comprehension(layout: Layout, index: int) -> bool:
    """Return whether what a comprehension is over, which may be borrowed, is taken before anything is raised: 3.15.

    The handler that begins at `index` finds it only where there is no memory for an empty list, and drops it.
    """
    first = [(raw.opname, raw.arg) for raw in layout.instructions[index : index + 3]]
    is_empty = first[0] in (("BUILD_LIST", 0), ("BUILD_SET", 0), ("BUILD_MAP", 0))
    return is_empty and first[1:2] == [("SWAP", 2)] and layout.opname(index + 2) in ("GET_ITER", "GET_AITER")


class _Stack:
    """The entries since the last border, each the variable that it is borrowed from, or None."""

    def __init__(self) -> None:
        self.entries: List[Optional[str]] = []
        self.counts: Dict[Optional[str], int] = {}  # how many entries are borrowed from a variable

    def leave(self, offset: int) -> None:
        """Begin anew. Raises Malformed if an entry is borrowed."""
        if any(self.counts.values()):
            raise Malformed(f"a borrowed value is left on the stack at {offset}, where a jump or a handler may lead")
        self.entries.clear()
        self.counts.clear()

    def push(self, name: Optional[str]) -> None:
        """Push an entry."""
        self.entries.append(name)
        if name is not None:
            self.counts[name] = self.counts.get(name, 0) + 1

    def pop(self) -> Optional[str]:
        """Pop an entry; one from before the border is not borrowed."""
        name = self.entries.pop() if self.entries else None
        if name is not None:
            self.counts[name] -= 1
        return name

    def execute(self, op: Op, is_borrowed: bool) -> None:
        """Execute a micro-op. Raises Malformed if it takes from a borrowed value what keeps it."""
        entries = self.entries
        if op.kind == "COPY":
            self.push(entries[-op.arg] if op.arg <= len(entries) else None)
        elif op.kind == "SWAP":
            entries[:0] = [None] * (op.arg - len(entries))
            entries[-1], entries[-op.arg] = entries[-op.arg], entries[-1]
        else:
            popped, pushed = _EFFECTS.get(op.kind) or stack_effect(op)
            taken = [self.pop() for _ in range(popped)]
            if op.kind in _ASSIGNS and any(taken):
                raise Malformed(f"the instruction at {op.offset} assigns a borrowed value")
            if op.kind in _CHANGES and self.counts.get(op.arg):
                raise Malformed(f"{op.arg} changes at {op.offset} while its value is borrowed")
            for _ in range(pushed):
                self.push(op.arg if is_borrowed else None)
