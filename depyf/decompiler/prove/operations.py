"""Operations on names, cells, bools, calls and exceptions: each runs silently, or stops at its event.

A micro-op needs a function here, or in display_operations.py, only if it can be silent, moves control, or has
operands other than the stack entries that it pops. Each function returns the index of the next op, or STOP with
the event in `side.event`. An op without an entry in SPECIAL is a plain event (see plan.py).
"""

from __future__ import annotations

from typing import Any, Callable, Dict

from depyf.decompiler.bytecode.microops import CLOSURE, NULL_FIRST, PLAIN
from depyf.decompiler.prove.correspondence import excuse_lost
from depyf.decompiler.prove.display_operations import DISPLAYS
from depyf.decompiler.prove.flat_program import ADVANCE, ITERATE, LEAVE, RAISES, TRUTH, Plan
from depyf.decompiler.prove.machine_state import Pair, Side
from depyf.decompiler.prove.releases import drop
from depyf.decompiler.prove.symbolic_machine import STOP, Machine, Special, Unsupported, plain, replace, unbound_event
from depyf.decompiler.prove.terms import BOOL, CODE, CONST, GLOBAL, MAYBE, SLICE, TUPLE, UNBOUND


def _push_null(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    return replace(side, 0, m.terms.null)


def _spin(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("SPIN",), [], 0, 0, RAISES, 0)
    return STOP


def _delete_local(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name, is_temp = plan.arg[side.pc]
    names = side.temps if is_temp else side.locals
    value = names.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = unbound_event("DELETE_LOCAL", None if is_temp else name, value)
        return STOP
    del names[name]
    if is_temp:
        side.touched = side.lost_names = True
    else:
        side.released.append(value)
        side.dirty.append(name)
    return side.pc + 1


def _load_and_clear(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name, is_temp = plan.arg[side.pc]
    side.stack.append((side.temps if is_temp else side.locals).pop(name, m.terms.null))
    if is_temp:
        side.touched = side.lost_names = True
    else:
        side.dirty.append(name)
    return side.pc + 1


def _save_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """Give a variable a new cell, or none: an event, so that both sides do it at the same time."""
    name = plan.arg[side.pc]
    _forget_local(m, side, name)
    return plain(side, (plan.ops[side.pc].kind, name), 0, 0, 1)


def _restore_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    _forget_local(m, side, name)
    return plain(side, ("RESTORE_CELL", name), 1, 1, 0)


def _forget_local(m: Machine, side: Side, name: str) -> None:
    """Release the local that stood where the cell was; the cell itself must not be held anywhere."""
    cell = m.terms.cell(name)
    work = [*side.stack, *side.temps.values(), *side.locals.values()]
    for container in side.heap.values():
        work += container.items
    seen = set()
    for value in work:  # grows while it is walked
        if value == cell:
            raise Unsupported("a cell is in use while its variable gets another one")
        if value >= 0 and m.terms.kinds[value] & (TUPLE | SLICE) and value not in seen:
            seen.add(value)
            work += m.terms.data[value]
    if name in side.locals:
        value = side.locals.pop(name)
        if not m.exact:  # the cell on the stack holds it
            side.released.append(value)
        side.dirty.append(name)


def _is_shared_cell(plan: Plan, side: Side, name: str) -> bool:
    """Return whether other code can change a cell; one captured since the last event still has its content."""
    if name in side.captured and name not in side.locals:
        return True
    return name in plan.renewed or name not in plan.code.co_cellvars


def _load_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        if plan.handlers[side.pc] is not None or plan.reads_are_events:
            return plain(side, ("LOAD_CELL", name), 0, 0, 1, GLOBAL)
        return replace(side, 0, m.read_shared(side, pair, "cell " + name))
    value = side.locals.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = unbound_event("LOAD_LOCAL", name, value)
        return STOP
    return replace(side, 0, value)


def _store_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        return plain(side, ("STORE_CELL", name), 1, 1, 0)
    if name in side.locals:
        side.released.append(side.locals[name])
    side.locals[name] = side.stack.pop()
    side.dirty.append(name)
    return side.pc + 1


def _delete_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        return plain(side, ("DELETE_CELL", name), 0, 0, 0)
    value = side.locals.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = unbound_event("DELETE_LOCAL", name, value)
        return STOP
    side.released.append(value)
    del side.locals[name]
    side.dirty.append(name)
    return side.pc + 1


def _load_closure(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if name in plan.code.co_cellvars and name not in side.captured and name not in plan.renewed:
        side.captured.add(name)
        side.dirty.append(name)
    return replace(side, 0, m.terms.cell(name))


def _is(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    term = m.identical(side, side.stack[-2], side.stack[-1])
    return replace(side, 2, m.terms.negated(term) if plan.arg[side.pc] else term)


_FOLDED: Dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda x, y: bool(x < y), "<=": lambda x, y: bool(x <= y), "==": lambda x, y: bool(x == y),
    "!=": lambda x, y: bool(x != y), ">": lambda x, y: bool(x > y), ">=": lambda x, y: bool(x >= y),
}  # fmt: skip


def _compare(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    x, y = side.stack[-2:]
    terms = m.terms
    if x > 0 and y > 0 and terms.kinds[x] & terms.kinds[y] & CONST:
        left, right = terms.data[x], terms.data[y]
        if type(left) is int and type(right) is int:
            return replace(side, 2, terms.true if _FOLDED[plan.arg[side.pc]](left, right) else terms.false)
    return plain(side, ("COMPARE", plan.arg[side.pc]), 2, 2, 1)


def _unary(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    operator = plan.arg[side.pc]
    if operator != "not":
        return plain(side, ("UNARY", operator), 1, 1, 1)
    term = m.truth(side, side.stack[-1])
    if not term:
        side.event = (("TRUTH",), side.stack[-1:], 1, 1, TRUTH, BOOL)
        return STOP
    return replace(side, 1, m.terms.negated(term))


def _to_bool(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    term = m.truth(side, side.stack[-1])
    if not term:
        outside = plan.arg[side.pc]
        side.event = (("TRUTH",) if outside is None else ("TRUTH", outside), side.stack[-1:], 1, 1, TRUTH, BOOL)
        return STOP
    return replace(side, 1, term)


def _call_with_names_on_stack(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    argc, _, layout = plan.arg[side.pc]
    names = side.stack[-1]
    values = [m.terms.data[name] for name in m.containers.elements(side, names) or ()]
    if names < 0 or not values or not all(type(name) is str for name in values):
        raise Unsupported("a call whose keyword names are not constant")
    key, operands, pops, pushes, how, properties = m.call_event(
        side, (argc, ("CALL", tuple(values)), layout), side.stack[:-1]
    )
    side.event = (key, operands, pops + 1, pushes, how, properties)
    return STOP


def _call_ex(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    has_kwargs, layout = plan.arg[side.pc]
    pops = 2 + has_kwargs + (layout is not PLAIN)
    operands = side.stack[-pops:]
    if layout is not PLAIN:
        null_at = 0 if layout is NULL_FIRST else 1
        if operands[null_at] != m.terms.null:
            raise Unsupported("CALL_EX without its NULL")
        del operands[null_at]
    positional = m.containers.elements(side, operands[1])
    keywords = m.containers.call_keywords(side, operands[2]) if has_kwargs else ((), [])
    if positional is not None and keywords is not None:
        names, values = keywords
        # CALL_EX holds its tuple while the function runs; a function called by CALL may give up its arguments.
        key = ("CALL", names, "unpacked") if positional or values else ("CALL", names)
        side.event = (key, [operands[0], *positional, *values], pops, 1, ADVANCE, 0)
        return STOP
    if has_kwargs and keywords == ((), []):
        has_kwargs = 0  # `f(*args, **{})`
        del operands[2]
    if positional is not None:
        operands[1] = m.containers.make_tuple(side, positional[:]) or operands[1]
    side.event = (("CALL_EX", has_kwargs), operands, pops, 1, ADVANCE, 0)
    return STOP


def _make_function(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    flags, name = plan.arg[side.pc]
    pops = 1 + bin(flags).count("1")
    operands = side.stack[-pops:]
    code = m.terms.data[operands[-1]] if operands[-1] > 0 and m.terms.kinds[operands[-1]] & CODE else None
    if code is None:
        raise Unsupported("a function made from something other than constant code")
    free = code.co_freevars
    if flags & CLOSURE:
        cells = m.containers.elements(side, operands[-2])
        if cells is not None:
            if len(cells) != len(free):
                raise Unsupported("a closure that is not a tuple of cells")
            ordered = [cell for _, cell in sorted(zip(free, cells))]
            operands[-2] = m.terms.tuple_of(tuple(ordered))
            free = tuple(sorted(free))
    side.event = (("MAKE_FUNCTION", flags, free, name), operands, pops, 1, ADVANCE, 0)
    return STOP


def _return(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("RETURN",), side.stack[-1:], 1, 0, LEAVE, 0)
    return STOP


def _raise(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    side.event = (("RAISE", size), side.stack[len(side.stack) - size :], size, 0, RAISES, 0)
    return STOP


def _reraise(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """Continue silently in the handler, or leave the frame."""
    handler = plan.handlers[side.pc]
    if handler is None:
        side.event = (("PROPAGATE",), side.stack[-1:], 1, 0, LEAVE, 0)
        return STOP
    exception = side.stack.pop()
    if len(side.stack) < handler.depth:
        raise Unsupported("a handler wants more stack than there is")
    lost = side.stack[handler.depth :]
    del side.stack[handler.depth :]
    if lost and side is pair.a and pair.b.temps:
        excuse_lost(m.terms, pair, lost)
    if handler.lasti:
        side.stack.append(m.terms.lasti)
    side.stack.append(exception)
    if lost and m.exact:
        drop(m.terms, side, lost[::-1])
    m.spend()
    return handler.target


def _push_exc_info(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.stack[-1:] = [side.exc, side.stack[-1]]
    side.exc = side.stack[-1]
    return side.pc + 1


def _pop_except(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    if m.exact:
        side.released.append(side.exc)
    side.exc = side.stack.pop()
    return side.pc + 1


def _for_iter(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("FOR_ITER",), side.stack[-1:], 0, 1, ITERATE, 0)
    return STOP


def _load_assertion_error(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    return replace(side, 0, m.terms.assertion_error)


def _load_join(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """Load `''.join`, the only attribute whose value is known (see plan.py)."""
    if side.stack[-1] != m.terms.const(""):
        return plain(side, ("LOAD_ATTR", "join"), 1, 1, 1)
    return replace(side, 1, m.terms.join)


SPECIAL: Dict[str, Special] = {
    "PUSH_NULL": _push_null, "JUMP": _spin, "DELETE_LOCAL": _delete_local,
    "LOAD_LOCAL_AND_CLEAR": _load_and_clear, "LOAD_CELL": _load_cell, "STORE_CELL": _store_cell,
    "SAVE_CELL": _save_cell, "RENEW_CELL": _save_cell, "RESTORE_CELL": _restore_cell,
    "DELETE_CELL": _delete_cell, "LOAD_CLOSURE": _load_closure,
    "IS": _is, "COMPARE": _compare, "UNARY": _unary, "TO_BOOL": _to_bool, "CALL": _call_with_names_on_stack,
    "CALL_EX": _call_ex, "MAKE_FUNCTION": _make_function, "RETURN": _return, "RAISE": _raise,
    "RERAISE": _reraise, "PUSH_EXC_INFO": _push_exc_info, "POP_EXCEPT": _pop_except, "FOR_ITER": _for_iter,
    "LOAD_ASSERTION_ERROR": _load_assertion_error, "LOAD_JOIN": _load_join, **DISPLAYS,
}  # fmt: skip
