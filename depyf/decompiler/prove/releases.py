"""Releases: when a frame gives up its last reference to a value.

A value may die there, and a finalizer may then do anything, so in an exact proof such a release is an event. Which
object dies depends on who else holds it, which is the same for both machines: they hold the same symbols between any
two events, and give them up in the same order. A symbol is held while the stack, a name, a fresh container, a tuple
or the exception being handled refers to it. Containers give up their elements as CPython's deallocators do: lists and
tuples from the last to the first, dicts from the first on.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Tuple

from depyf.decompiler.prove.flat_program import Plan
from depyf.decompiler.prove.machine_state import DICT, Side
from depyf.decompiler.prove.terms import BOOL, NUMBER, SLICE, SYMBOL, TUPLE, Terms

_COMPOUND = TUPLE | SLICE
_SLICE_ORDER = (2, 0, 1)  # step, start, stop


def drop(terms: Terms, side: Side, values: Iterable[int]) -> None:
    """Add to `side.pending` the symbols that these values held and that nothing in the frame holds any more."""
    dying: Dict[int, None] = {}
    for value in values:
        collect(terms, side, value, dying)
    if not dying:
        return
    names, temps, stack = side.locals.values(), side.temps.values(), side.stack
    for symbol in list(dying):
        if symbol in stack or symbol in names or symbol in temps or symbol == side.exc:
            del dying[symbol]
    if not dying:
        return
    kinds = terms.kinds
    rest: Dict[int, None] = {}
    for holder in (*stack, *names, *temps):
        if holder < 0 or kinds[holder] & _COMPOUND:
            collect(terms, side, holder, rest)
    side.pending.extend([symbol for symbol in dying if symbol not in rest] if rest else dying)


def collect(terms: Terms, side: Side, value: int, into: Dict[int, None]) -> None:
    """Add the symbols that a value holds, in the order in which its deallocation gives them up."""
    work = [value]
    seen = set()
    while work:
        value = work.pop()
        if value < 0:
            value = side.resolve(value)
        if value < 0:
            if value not in seen:
                seen.add(value)
                container = side.heap[value]
                work.extend(container.items[::-1] if container.kind == DICT else container.items)
            continue
        kind = terms.kinds[value]
        if kind & SYMBOL:
            if not kind & (BOOL | NUMBER):
                into[value] = None
        elif kind & TUPLE:
            work.extend(terms.data[value])
        elif kind & SLICE:
            work.extend([terms.data[value][place] for place in _SLICE_ORDER][::-1])


def unwound(terms: Terms, side: Side, stack: List[int], depth: int) -> List[int]:
    """Return the symbols given up, in order, when an exception cuts `stack`, the operands gone, down to `depth`."""
    if len(stack) <= depth:
        return []
    left = Side()
    left.stack, left.locals, left.temps, left.heap, left.exc = (
        stack[:depth], side.locals, side.temps, side.heap, side.exc,
    )  # fmt: skip
    drop(terms, left, stack[depth:][::-1])
    return left.pending


def at_end(terms: Terms, plan: Plan, side: Side, result: List[int]) -> List[Tuple[str, int]]:
    """Return what the frame gives up at its end, slot by slot: (name of a cell that others reach, symbol).

    `result` is the value returned, which survives; without one an exception has emptied the stack.
    """
    held: Dict[int, None] = {}
    for value in result:
        collect(terms, side, value, held)
    found: List[Tuple[str, int]] = []
    slots: List[Tuple[str, int]] = [(name, side.locals.get(name, 0)) for name in plan.slots]
    if result:
        slots += [("", value) for value in side.stack[: -len(result)]]
    for name, value in reversed(slots):
        if name in side.captured:
            found.append((name, 0))
            continue
        mine: Dict[int, None] = {}
        collect(terms, side, value, mine)
        found.extend([("", symbol) for symbol in list(mine)[::-1] if symbol not in held])
        held.update(mine)
    return found[::-1]
