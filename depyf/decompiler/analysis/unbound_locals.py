"""Unbound locals: which reads of locals may raise because the local has no value; those are events in the text too.

A forward analysis over the ops: the locals that have a value on every path to an op. (A handler is reached from every
op that it protects.)
"""

from __future__ import annotations

import heapq
from typing import Dict, FrozenSet, List, Set, Tuple

from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.analysis.program_answers import answered_once
from depyf.decompiler.bytecode.microops import ENDS, Program, parameters

_BINDS = frozenset({"STORE_LOCAL", "LOAD_LOCAL", "STORE_CELL", "LOAD_CELL"})  # or show that there is a value
_UNBINDS = frozenset({"DELETE_LOCAL", "DELETE_CELL", "LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL"})
_READS = frozenset({"LOAD_LOCAL", "LOAD_CELL"})
_SETS = frozenset({"STORE_LOCAL", "DELETE_LOCAL"})  # what makes a name in text a local
_TAKES_A_CELL = frozenset({"LOAD_CLOSURE", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL"})
_NAMES_A_LOCAL = _SETS | {"LOAD_LOCAL", "LOAD_LOCAL_AND_CLEAR"}
_MANY = 2
Read = Tuple[int, str]  # where it is in the code, and the local


@answered_once
def maybe_unbound(program: Program) -> FrozenSet[Read]:
    """Return the reads of locals that may find no value, and those of cells, as long as no other function has them."""
    given = {*parameters(program.code), *program.code.co_freevars}
    ops = program.ops
    lost = {op.arg for op in ops if op.kind in _UNBINDS}
    asked = {op.arg for op in ops if op.kind in _READS}
    followed = [name for name in asked if name in lost or name not in given]
    if not followed:
        return frozenset()
    bits = {name: 1 << number for number, name in enumerate(followed)}
    start = sum(bit for name, bit in bits.items() if name in given)
    bound = _bound(program, bits, start)
    found: Set[Read] = set()
    for op, known in zip(ops, bound):
        if op.kind in _READS and op.arg in bits and known >= 0 and not known & bits[op.arg]:
            found.add((op.offset, op.arg))
    return frozenset(found)


def never_set(program: Program, reads: FrozenSet[Read]) -> FrozenSet[str]:
    """Return the locals among these reads that never get a value: only unreachable code sets them."""
    names = {name for _, name in reads if name not in program.code.co_cellvars}
    if names:
        stores = [op.kind in _SETS and op.arg in names for op in program.ops]
        reached = _bound(program, {}, 0) if any(stores) else []
        names -= {op.arg for op, is_store, known in zip(program.ops, stores, reached) if is_store and known >= 0}
    return frozenset(names)


@answered_once
def unread_before_store(program: Program) -> FrozenSet[str]:
    """Return the locals that are stored once and not used before: no pending value can hold an earlier value of one."""
    stores: Dict[str, int] = {}  # local -> how often it is stored, many times if it is used before
    for op in program.ops:
        if op.kind in _NAMES_A_LOCAL:
            stores[op.arg] = stores.get(op.arg, 0) + (1 if op.kind == "STORE_LOCAL" else _MANY * (op.arg not in stores))
    given = {*parameters(program.code), *program.code.co_cellvars}
    return frozenset([name for name, times in stores.items() if times == 1 and name not in given])


@answered_once
def captured_from(program: Program) -> Dict[str, int]:
    """Return, for each variable whose cell is taken, the first offset at which it may have been taken."""
    found: Dict[str, int] = {}
    if op_kinds(program).isdisjoint(_TAKES_A_CELL):
        return found
    for index, op in enumerate(program.ops):
        if op.kind in _TAKES_A_CELL:
            found.setdefault(op.arg, index)
    if not found:
        return {}
    back = [(op.target, index) for index, op in enumerate(program.ops) if 0 <= op.target <= index]
    back += [
        (program.handlers[op.handler].target, index)
        for index, op in enumerate(program.ops)
        if op.handler >= 0 and program.handlers[op.handler].target <= index
    ]
    starts = _starts_of_loops(back, set(found.values()))
    return {name: program.ops[starts[first]].offset for name, first in found.items()}


def _starts_of_loops(back: List[Tuple[int, int]], places: Set[int]) -> Dict[int, int]:
    """Return, for each place, the first one that jumps back over it can lead to; each is (target, index)."""
    starts: Dict[int, int] = {}
    loops = sorted(back)
    around: List[Tuple[int, int]] = []  # (start, last index) of the loops that have begun, the earliest start first
    entered = 0
    for place in sorted(places.union(target for target, _ in back)):
        while entered < len(loops) and loops[entered][0] < place:
            target, last = loops[entered]
            heapq.heappush(around, (starts[target], last))
            entered += 1
        while around and around[0][1] < place:
            heapq.heappop(around)
        starts[place] = min(place, around[0][0]) if around else place
    return starts


def _bound(program: Program, bits: Dict[str, int], start: int) -> List[int]:
    """Return, for each op, the locals that have a value before it, as a sum of bits; -1 where it is unreachable."""
    ops = program.ops
    handlers = [handler.target for handler in program.handlers]
    before = [-1] * (len(ops) + 1)
    before[0] = start
    work = [0]
    while work:
        index = work.pop()
        known = before[index]
        while True:
            op = ops[index]
            kind = op.kind
            if op.handler >= 0 and _narrow(before, handlers[op.handler], known):
                work.append(handlers[op.handler])
            if op.target >= 0 and _narrow(before, op.target, known):
                work.append(op.target)
            if kind in _BINDS:
                known |= bits.get(op.arg, 0)
            elif kind in _UNBINDS:
                known &= ~bits.get(op.arg, 0)
            index += 1
            if kind in ENDS or index == len(ops):
                break
            if before[index] >= 0:  # reached before
                if not _narrow(before, index, known):
                    break
                known = before[index]
            else:
                before[index] = known
    return before


def _narrow(before: List[int], index: int, known: int) -> bool:
    """Merge the bound locals of one more path to an op; return whether there are fewer now."""
    narrowed = known if before[index] < 0 else before[index] & known
    if narrowed == before[index]:
        return False
    before[index] = narrowed
    return True
