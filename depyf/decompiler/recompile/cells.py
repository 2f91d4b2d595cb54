"""Cells: give a code object the cell and free variables of another, in its order, and renumber its instructions.

From 3.11 on, instructions number locals, cells and free variables in one sequence: locals, then the cells that are
not locals, then the free variables. Before, cells and free variables are numbered apart from locals.
"""

from __future__ import annotations

from types import CodeType
from typing import Dict, List, Tuple

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.decode.instructions import raw_instructions
from depyf.decompiler.recompile.restoration import CannotRecompile

_BY_SLOT = frozenset({
    "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "MAKE_CELL", "LOAD_FAST",
    "LOAD_FROM_DICT_OR_DEREF", "STORE_FAST", "DELETE_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR",
    "LOAD_FAST_BORROW",
})  # fmt: skip
_OF_LOCALS = frozenset({"LOAD_FAST", "STORE_FAST", "DELETE_FAST"})
# Two slots in one argument, four bits each (3.13).
_BY_TWO_SLOTS = frozenset({
    "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
})  # fmt: skip


def with_cells(code: CodeType, cells: Tuple[str, ...], free: Tuple[str, ...]) -> CodeType:
    """Return the code with `co_cellvars` and `co_freevars` in the order given, which must include those that it has.

    A cell that the code does not make is left out: no instruction would fill its slot, and whoever lists the frame's
    variables would take the value there for a cell. For the same reason the code must have some free variable if it is
    to get any: only then it has the instruction that fills their slots.
    """
    if not set(code.co_cellvars) <= set(cells) or not set(code.co_freevars) <= set(free):
        raise CannotRecompile("the code has cells that the other has not")
    if free and not code.co_freevars:
        raise CannotRecompile("the text mentions no free variable")
    cells = tuple([name for name in cells if name in code.co_cellvars])
    apart = facts_of(code).cells_are_numbered_apart
    before = _slots(() if apart else code.co_varnames, code.co_cellvars, code.co_freevars)
    after = {name: index for index, name in enumerate(_slots(() if apart else code.co_varnames, cells, free))}
    moved: Dict[int, int] = {index: after[name] for index, name in enumerate(before)}
    data = bytearray(code.co_code)
    for raw in raw_instructions(code, facts_of(code).version):
        if raw.opname == "COPY_FREE_VARS":
            data[raw.offset + 1] = len(free)
            continue
        new = raw.arg if apart and raw.opname in _OF_LOCALS else _renumbered(raw.opname, raw.arg, moved)
        if new != raw.arg:
            if new > 255 or raw.start != raw.offset:
                raise CannotRecompile("too many variables to renumber")
            data[raw.offset + 1] = new
    return code.replace(co_code=bytes(data), co_cellvars=cells, co_freevars=free)


def _renumbered(opname: str, argument: int, moved: Dict[int, int]) -> int:
    """Return the argument of an instruction after its variables have moved."""
    if opname in _BY_SLOT:
        return moved[argument]
    if opname in _BY_TWO_SLOTS:
        first, second = moved[argument >> 4], moved[argument & 15]
        if max(first, second) > 15:
            raise CannotRecompile("too many variables to renumber")
        return first << 4 | second
    return argument


def _slots(variables: Tuple[str, ...], cells: Tuple[str, ...], free: Tuple[str, ...]) -> List[str]:
    return [*variables, *(name for name in cells if name not in variables), *free]
