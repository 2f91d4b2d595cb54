"""Long names and constants: a text that repeats one in many places could be of any size."""

from __future__ import annotations

from typing import Any, Dict

from depyf.decompiler.bytecode.microops import Program

LONG = 1000  # characters or elements
FOR_EACH_STEP = 32  # characters or elements
_COLLECTIONS = (tuple, frozenset)
_TEXTS = (str, bytes)


def charge_repetitions(program: Program) -> None:
    """Charge the program's budget for every op after the first that has one long name or constant as its argument."""
    code = program.code
    names = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    if max(map(len, names), default=0) <= LONG and not any(map(_is_long, code.co_consts)):
        return
    sizes: Dict[int, int] = {}  # id of an argument -> its size
    for op in program.ops:
        if op.arg is None:
            continue
        known = sizes.get(id(op.arg))
        if known is None:
            sizes[id(op.arg)] = _size(op.arg)
        elif known > LONG:
            program.budget.charge(known // FOR_EACH_STEP)


def _is_long(value: Any) -> bool:
    if isinstance(value, _TEXTS):
        return len(value) > LONG
    if type(value) is int:
        return value.bit_length() > LONG
    return isinstance(value, _COLLECTIONS) and _size(value) > LONG


def _size(value: Any) -> int:
    """Return how many characters or elements a text of the value would have, roughly."""
    size, work = 0, [value]
    while work:  # constants are no larger than decoding accepts
        current = work.pop()
        size += 1
        if isinstance(current, _TEXTS):
            size += len(current)
        elif type(current) is int:
            size += current.bit_length() // 4
        elif isinstance(current, _COLLECTIONS):
            work.extend(current)
    return size
