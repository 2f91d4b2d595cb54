"""Whether a code object has run, read from the marks that CPython itself leaves in it.

The interpreter counts the runs of a code object, or rewrites its instructions, to find out what to optimise. Reading
these marks takes nothing from the program: no trace, profile or monitoring slot, and nothing in the path of a call.

- 3.8 to 3.10: `co_opcache_flag`, a counter in the code object (Python/ceval.c); 3.11: `co_warmup` (likewise). No
  attribute shows them, so they are read from memory.
- 3.12: each instruction with an inline cache counts down in it; code without such an instruction keeps no mark.
- 3.13 and newer: RESUME, the first instruction, becomes RESUME_CHECK (Python/bytecodes.c).

Where the mark is, is not assumed: a sample is run once to find out. A Python that leaves none gives None.
"""

from __future__ import annotations

import ctypes
import functools
import sysconfig
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Dict

_COUNTER = 2  # bytes of a counter that are read: all of co_warmup, and co_opcache_flag ends at 1024
_CACHE = 0  # opcode of the entries of an inline cache


@dataclass(frozen=True)
class _Marks:
    """Which marks this interpreter leaves."""

    offset: int | None = None  # of a counter in the memory of a code object
    fresh: bytes = b""  # the counter before the first run
    in_first_instruction: bool = False
    in_caches: bool = False


class FreshCodes:
    """Code objects that had not run when the session began: generated inside it, or given to functions on entering."""

    def __init__(self) -> None:
        self._codes: Dict[int, CodeType] = {}  # by id: `==` compares all of two code objects
        self.is_needed = False  # whether there are graphs that were compiled before the session

    def add(self, function: FunctionType) -> None:
        """Add the code of a function that was just generated."""
        if self.is_needed:
            self._codes[id(function.__code__)] = function.__code__

    def renew(self, function: FunctionType) -> None:
        """Give a function a copy of its code, which has not run."""
        if function.__code__ not in self:
            function.__code__ = function.__code__.replace()
            self.add(function)

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._codes


def has_run(code: CodeType) -> bool | None:
    """Return whether the code object was ever run; None where that is not known."""
    marks = _marks()
    if marks.offset is not None:
        return _memory(code)[marks.offset : marks.offset + _COUNTER] != marks.fresh
    if not marks.in_caches or _adaptive(code) != _adaptive(code.replace()):
        return True if marks.in_caches else None
    is_marked = marks.in_first_instruction or _CACHE in code.co_code[::2]
    return False if is_marked and not _has_copies_for_threads() else None


@functools.lru_cache(maxsize=None)
def _marks() -> _Marks:
    first, second = _sample("return (x,)"), _sample("return x + 1")
    before = _memory(first.__code__), _adaptive(first.__code__), _adaptive(second.__code__)
    first(1), second(1)
    once = _memory(first.__code__)
    in_first, in_caches = (_adaptive(function.__code__) != text for function, text in zip((first, second), before[1:]))
    first(1)
    twice = _memory(first.__code__)
    start = object.__basicsize__  # what comes before is the reference count and the type
    for at in range(start, len(once)):
        if (once[at] - before[0][at]) & 0xFF == (twice[at] - once[at]) & 0xFF == 1:
            at -= at % _COUNTER
            return _Marks(at, before[0][at : at + _COUNTER])
    return _Marks(None, b"", in_first, in_caches)


def _sample(body: str) -> FunctionType:
    names: Any = {}
    exec(compile(f"def sample(x): {body}", "<depyf: sample>", "exec", dont_inherit=True), names)
    sample: FunctionType = names["sample"]
    return sample


def _memory(code: CodeType) -> bytes:
    """Return the fixed part of a code object in memory."""
    return ctypes.string_at(id(code), CodeType.__basicsize__)


def _adaptive(code: CodeType) -> bytes:
    """Return the instructions as the interpreter has rewritten them so far; empty before 3.11."""
    return getattr(code, "_co_code_adaptive", b"")


def _has_copies_for_threads() -> bool:
    """Return whether each thread may have its own copy of the instructions, with marks of its own (PEP 703)."""
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
