"""The docstring that a function gets from its code object."""

from __future__ import annotations

from types import CodeType
from typing import Optional

from depyf.decompiler.bytecode.code_flags import CO_HAS_DOCSTRING, CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import facts_of


def docstring_in(code: CodeType) -> Optional[str]:
    """Return the `__doc__` of a function made from this code: its first constant, if that is a docstring."""
    if not code.co_flags & CO_OPTIMIZED:
        return None
    if facts_of(code).docstrings_are_flagged and not code.co_flags & CO_HAS_DOCSTRING:
        return None
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None
