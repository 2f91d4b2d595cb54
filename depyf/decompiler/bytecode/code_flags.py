"""The bits of `co_flags`, the same in every supported CPython (Include/cpython/code.h and Lib/inspect.py)."""

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
FUTURE_FLAGS = 0x1FF0000  # every feature that `from __future__ import` records

ASYNC_FUNCTIONS = CO_COROUTINE | CO_ASYNC_GENERATOR  # `async def`
GENERATORS = CO_GENERATOR | CO_ASYNC_GENERATOR  # functions that yield
