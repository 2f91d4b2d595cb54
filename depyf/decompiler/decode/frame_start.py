"""The start of a code object: what the interpreter does before the frame counts as begun.

Free variables are copied, every variable of `co_cellvars` gets its cell, a generator is made; then comes RESUME. (Since
3.15 a generator expression takes its iterator before the generator is made, under a RESUME of its own.) Before
it the frame is in no traceback and its variables are not read, so code without it, or with anything else before it, is
not as compilers emit it. A cell that is not made there would change what the frame's variables are listed as: whoever
lists them takes `co_cellvars` for the variables that are cells.
"""

from __future__ import annotations

from types import CodeType
from typing import List

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.decode.code_layout import Layout, fail

_BEFORE = ("COPY_FREE_VARS", "MAKE_CELL", "NOP")
_IN_GENERATOR_EXPRESSION = 4  # argument of RESUME


def check_start(layout: Layout, is_generator: bool) -> int:
    """Return the index of the RESUME that begins the frame; raise Malformed if it is not where compilers put it."""
    if not layout.facts.frames_begin_with_resume:
        return _check_old_start(layout, is_generator)
    start, copies = 0, 0
    cells: List[int] = []
    while layout.opname(start) in _BEFORE:
        copies += layout.opname(start) == "COPY_FREE_VARS"
        if layout.opname(start) == "MAKE_CELL":
            cells.append(layout.instructions[start].arg)
        start += 1
    if copies != bool(layout.code.co_freevars):
        raise Malformed("the code begins without a copy of its free variables, or with several")
    if sorted(cells) != _cell_slots(layout.code):
        raise Malformed("the code does not begin with making each of its cells once")
    if is_generator and _takes_iterator(layout, start):
        start += 3
    if is_generator:
        if layout.opname(start) != "RETURN_GENERATOR" or layout.opname(start + 1) != "POP_TOP":
            raise Malformed("the code is a generator's by its flags and does not begin like one")
        start += 2
    elif layout.opname(start) == "RETURN_GENERATOR":
        fail(layout.instructions[start], "is for generators only")
    if layout.opname(start) != "RESUME" or layout.instructions[start].arg:
        raise Malformed("the code does not begin with RESUME")
    if start and any(landing < start for landing in layout.landings):
        raise Malformed("a jump leads to before the frame has begun")
    return start


_OF_LOCALS = ("LOAD_FAST", "STORE_FAST", "DELETE_FAST")


def _check_old_start(layout: Layout, is_generator: bool) -> int:
    """Check the start before 3.11: the interpreter makes the cells, and moves parameters into theirs, by itself."""
    code = layout.code
    starts_generator = layout.opname(0) == "GEN_START"
    if starts_generator is not (is_generator and layout.facts.generators_have_gen_start):
        raise Malformed("the code is a generator's by its flags, or not, and does not begin so")
    if starts_generator and 0 in layout.landings:
        raise Malformed("a jump leads to before the frame has begun")
    shared = {*code.co_cellvars, *code.co_freevars}.intersection(code.co_varnames)
    for raw in layout.instructions if shared else ():
        if raw.opname in _OF_LOCALS and code.co_varnames[raw.arg : raw.arg + 1] and code.co_varnames[raw.arg] in shared:
            fail(raw, f"uses {code.co_varnames[raw.arg]} as a local, and it is a cell")
    return int(starts_generator)


def _takes_iterator(layout: Layout, start: int) -> bool:
    """Return whether a generator expression takes its iterator at `start`: RESUME, the load of `.0`, GET_ITER."""
    first = layout.instructions[start : start + 3]
    if not layout.facts.generator_expressions_iterate_first or len(first) < 3 or layout.code.co_argcount != 1:
        return False
    resume, load, take = first
    return (
        (resume.opname, resume.arg) == ("RESUME", _IN_GENERATOR_EXPRESSION)
        and (load.opname, load.arg) in (("LOAD_FAST", 0), ("LOAD_FAST_BORROW", 0))
        and (take.opname, take.arg) in (("GET_ITER", 0), ("GET_AITER", 0))
    )


def depth_at_start(layout: Layout, start: int) -> int:
    """Return how many entries are on the stack when the RESUME at `start` begins the frame of a generator."""
    return {"GET_ITER": 2, "GET_AITER": 1}.get(layout.opname(start - 3), 0)


def _cell_slots(code: CodeType) -> List[int]:
    """Return the slots of the variables in `co_cellvars`: among the locals, or behind them; in ascending order."""
    if not code.co_cellvars:
        return []
    slots = {name: slot for slot, name in enumerate(code.co_varnames)}
    for name in code.co_cellvars:
        slots.setdefault(name, len(slots))
    return sorted([slots[name] for name in code.co_cellvars])
