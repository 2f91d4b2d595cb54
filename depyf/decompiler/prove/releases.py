"""Releases: when a frame gives up its last reference to a value.

A value may die there, and a finalizer may then do anything, so in an exact proof such a release is an event. Which
object dies depends on who else holds it, which is the same for both machines: they hold the same symbols between any
two events, and give them up in the same order. A symbol is held while the stack, a name, a fresh container, a tuple
or the exception being handled refers to it, and given up with the last of these references. Containers give up their
elements, as CPython's deallocators do, with the last reference to them: lists and tuples from the last to the first,
dicts from the first on. One that holds itself is left to the garbage collector, and so are its elements.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Sequence, Tuple

from depyf.decompiler.prove.flat_program import Plan
from depyf.decompiler.prove.machine_state import DICT, Container, Side
from depyf.decompiler.prove.terms import BOOL, NUMBER, SLICE, SYMBOL, TUPLE, Terms

_COMPOUND = TUPLE | SLICE
_SLICE_ORDER = (2, 0, 1)  # step, start, stop


def drop(terms: Terms, side: Side, values: Iterable[int]) -> None:
    """Add to `side.pending` the symbols that these values held and that nothing in the frame holds any more."""
    dying = given_up(terms, side, values)
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
    """Add the symbols that a value holds."""
    work = [value]
    seen = set()
    while work:
        value = work.pop()
        if value < 0:
            value = side.resolve(value)
        kind = terms.kinds[value] if value >= 0 else 0
        if kind & SYMBOL:
            if not kind & (BOOL | NUMBER):
                into[value] = None
        elif (value < 0 or kind & _COMPOUND) and value not in seen:
            seen.add(value)
            work.extend(terms.data[value] if value >= 0 else side.heap[value].items)


def given_up(terms: Terms, side: Side, values: Iterable[int]) -> Dict[int, None]:
    """Return the symbols that these references hold, each where its last one goes, if they go one after the other."""
    work = [side.resolve(value) if value < 0 else value for value in values]
    work.reverse()
    references = _references(terms, side, work)
    kinds = terms.kinds
    gone: Dict[int, None] = {}
    while work:
        value = work.pop()
        if value < 0:
            value = side.resolve(value)
        if value in references:
            references[value] -= 1
            if not references[value]:
                work.extend(_parts(terms, side, value)[::-1])
        elif kinds[value] & SYMBOL and not kinds[value] & (BOOL | NUMBER):
            gone.pop(value, None)
            gone[value] = None
    return gone


def _parts(terms: Terms, side: Side, value: int) -> Sequence[int]:
    """Return the parts of a fresh container, a tuple or a slice in the order in which it gives them up."""
    if value < 0:
        return elements(side.heap[value])
    parts: Tuple[int, ...] = terms.data[value]
    return parts[::-1] if terms.kinds[value] & TUPLE else [parts[place] for place in _SLICE_ORDER]


def elements(container: Container) -> List[int]:
    """Return the elements of a container in the order in which its deallocation gives them up."""
    return container.items if container.kind == DICT else container.items[::-1]


def _references(terms: Terms, side: Side, values: Iterable[int]) -> Dict[int, int]:
    """Count the references to each container, tuple and slice among these values and inside of them."""
    count: Dict[int, int] = {}
    work = [value for value in values if value < 0 or terms.kinds[value] & _COMPOUND]
    while work:
        value = work.pop()
        if value < 0:
            value = side.resolve(value)
        if value < 0 or terms.kinds[value] & _COMPOUND:
            if value not in count:
                count[value] = 0
                work.extend(terms.data[value] if value >= 0 else side.heap[value].items)
            count[value] += 1
    return count


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
        found.extend([("", symbol) for symbol in list(given_up(terms, side, (value,)))[::-1] if symbol not in held])
        collect(terms, side, value, held)
    return found[::-1]
