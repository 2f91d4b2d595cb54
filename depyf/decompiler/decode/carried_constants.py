"""The constant on top of the stack, where instructions behind the one that pushed it have moved it.

The names of a call's keyword arguments are right before the call in what compilers emit. Dynamo puts values below the
operands of a call that it does not compile, and moves all of them up again, names included.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from depyf.decompiler.decode.code_layout import Layout

# Instructions that may be in between: (entries popped, entries pushed).
_EFFECTS: Dict[str, Tuple[int, int]] = {
    "NOP": (0, 0), "LOAD_CONST": (0, 1), "LOAD_SMALL_INT": (0, 1), "LOAD_FAST": (0, 1), "LOAD_FAST_BORROW": (0, 1),
    "LOAD_DEREF": (0, 1), "PUSH_NULL": (0, 1), "COPY": (0, 1), "POP_TOP": (1, 0), "STORE_FAST": (1, 0),
    "LIST_EXTEND": (1, 0), "LIST_APPEND": (1, 0), "BINARY_OP": (2, 1), "BINARY_SUBSCR": (2, 1), "STORE_SUBSCR": (3, 0),
    "DELETE_SUBSCR": (2, 0),
}  # fmt: skip
_BUILDS = ("BUILD_LIST", "BUILD_TUPLE")


def constant_on_top(layout: Layout, index: int) -> Any:
    """Return the constant that is sure to be on top before the instruction at `index`; None if none is known to be."""
    position = 0  # from the top
    while index > 0 and index not in layout.landings:
        index -= 1
        raw = layout.instructions[index]
        if raw.opname == "SWAP":
            position = {0: raw.arg - 1, raw.arg - 1: 0}.get(position, position)
            continue
        if raw.opname == "COPY" and position == 0:
            position = raw.arg - 1
            continue
        pops, pushes = (raw.arg, 1) if raw.opname in _BUILDS else _EFFECTS.get(raw.opname, (0, position + 1))
        if position < pushes:
            is_known = raw.opname == "LOAD_CONST" and raw.arg < len(layout.code.co_consts)
            return layout.code.co_consts[raw.arg] if is_known else None
        position += pops - pushes
    return None
