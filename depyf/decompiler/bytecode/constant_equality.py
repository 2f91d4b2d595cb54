"""Equality of constants and of micro-ops: constants by type and bits, not by `==`."""

from __future__ import annotations

import struct
from typing import Any, Hashable

from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.microops import Op


def constant_key(value: Any) -> Hashable:
    """Return a key that two constants share exactly when no program can distinguish them (True and 1 differ)."""
    kind = type(value)
    if kind is float:
        return (kind, struct.pack("<d", value))
    if kind is complex:
        return (kind, struct.pack("<dd", value.real, value.imag))
    if kind is tuple:
        return (kind, tuple(constant_key(item) for item in value))
    if kind is frozenset:
        return (kind, frozenset(constant_key(item) for item in value))
    if kind is slice:  # 3.14
        return (kind, constant_key(value.start), constant_key(value.stop), constant_key(value.step))
    if kind in (int, str, bytes, bool, type(None), type(...)):
        return (kind, value)
    return (kind, id(value))


def same_constant(a: Any, b: Any) -> bool:
    """Return whether two constants are interchangeable; code objects are equal by their contents."""
    if isinstance(a, CODE_TYPES) and isinstance(b, CODE_TYPES):
        return a == b
    return constant_key(a) == constant_key(b)


def same_op(a: Op, b: Op) -> bool:
    """Return whether two ops do the same, jumps aside."""
    if a.kind != b.kind:
        return False
    return same_constant(a.arg, b.arg) if a.kind == "CONST" else a.arg == b.arg
