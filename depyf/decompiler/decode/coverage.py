"""Coverage: which of an interpreter's opcodes can be decoded."""

from __future__ import annotations

import dis
from typing import Dict

from depyf.decompiler.decode import translated_opnames

# Pseudo-instructions: the compiler replaces them before there is a code object (Lib/opcode.py).
_PSEUDO = frozenset({
    "ANNOTATIONS_PLACEHOLDER", "JUMP", "JUMP_IF_FALSE", "JUMP_IF_TRUE", "JUMP_NO_INTERRUPT", "LOAD_SUPER_METHOD",
    "LOAD_ZERO_SUPER_ATTR", "LOAD_ZERO_SUPER_METHOD", "POP_BLOCK", "SETUP_CLEANUP", "SETUP_FINALLY", "SETUP_WITH",
    "STORE_FAST_MAYBE_NULL",
})  # fmt: skip


def coverage() -> Dict[str, bool]:
    """Return the opcodes that a code object of the running interpreter may hold, and whether each is supported.

    Instrumented opcodes exist only in running code; `co_code` has those that they replace.
    """
    supported = set(translated_opnames())
    names = [name for name in dis.opmap if name not in _PSEUDO and not name.startswith("INSTRUMENTED_")]
    return {name: name in supported for name in sorted(names)}
