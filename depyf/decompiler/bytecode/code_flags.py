"""The bits of `co_flags`, the same in every supported CPython (Include/cpython/code.h and Lib/inspect.py).

But those of `from __future__` in 3.7, which become these where its code is read, and those again where it compiles.
"""

from __future__ import annotations

CO_OPTIMIZED = 0x1  # a function: its locals are slots; without it, a class body or a module
CO_NEWLOCALS = 0x2
CO_VARARGS = 0x4
CO_VARKEYWORDS = 0x8
CO_NESTED = 0x10
CO_GENERATOR = 0x20
CO_COROUTINE = 0x80
CO_ITERABLE_COROUTINE = 0x100
CO_ASYNC_GENERATOR = 0x200
CO_FUTURE_ANNOTATIONS = 0x1000000
CO_HAS_DOCSTRING = 0x4000000  # 3.14
CO_METHOD = 0x8000000  # 3.14: defined in a class body
FUTURE_FLAGS = 0x1FF0000  # every feature that `from __future__ import` records
_LOWEST_FUTURE_FLAG = 0x20000  # CO_FUTURE_DIVISION; the next ones are all of `from __future__`

ASYNC_FUNCTIONS = CO_COROUTINE | CO_ASYNC_GENERATOR  # `async def`
GENERATORS = CO_GENERATOR | CO_ASYNC_GENERATOR  # functions that yield


def lowered_future_flags(flags: int, shift: int) -> int:
    """Return the flags of `from __future__` alone, with their bits that much lower than they are since 3.8."""
    return (flags & FUTURE_FLAGS) >> shift


def raised_future_flags(flags: int, shift: int) -> int:
    """Return flags whose bits of `from __future__` are that much lower, with these bits where they are since 3.8."""
    future = flags & -(_LOWEST_FUTURE_FLAG >> shift) if shift else 0
    return flags - future + (future << shift)
