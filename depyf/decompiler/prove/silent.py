"""Runs one machine silently to its next event or to a branch on a bool that is not yet known."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from ..microops import CLOSURE, NULL_FIRST, PLAIN
from .containers import Containers
from .plan import (
    ADVANCE,
    BOUND,
    BRANCH,
    CALL_OP,
    CONST_OP,
    COPY_OP,
    ITERATE,
    JUMP_OP,
    LEAVE,
    LOAD_TEMP,
    LOAD_USER,
    PLAIN_EVENT,
    POP_OP,
    RAISES,
    READ_SHARED,
    STORE_TEMP,
    STORE_USER,
    SWAP_OP,
    TRUTH,
    Plan,
)
from .state import DICT, LIST, PACK, SET, Event, Pair, Side
from .terms import BOOL, CODE, CONST, GLOBAL, MAYBE, NOT, SINGLETON, SLICE, TUPLE, UNBOUND, Terms

STOP = -1  # an op that is an event
UNDECIDED = -2  # a branch on a bool that is not known


class Unsupported(Exception):
    """The proof cannot be carried on; says why. Never means that the codes are the same."""


class Machine:
    """The silent half of the semantics; has no state of its own but the budget."""

    __slots__ = ("terms", "containers", "jumps_left")

    def __init__(self, terms: Terms, budget: int) -> None:
        self.terms = terms
        self.containers = Containers(terms)
        self.jumps_left = budget

    def advance(self, plan: Plan, side: Side, pair: Pair) -> bool:
        """Run `side` until `side.event` is an Event (True) or an undecided bool term (False)."""
        run, args, labels = plan.run, plan.arg, plan.labels
        stack, names, temps, kinds = side.stack, side.locals, side.temps, self.terms.kinds
        pc = side.pc
        while True:
            if labels[pc]:
                pair.crossed = True
            how = run[pc]
            if how == LOAD_USER or how == LOAD_TEMP:
                value = (names if how == LOAD_USER else temps).get(args[pc], UNBOUND)
                if value >= 0 and (value == UNBOUND or kinds[value] & MAYBE and -value not in pair.facts):
                    side.pc = pc
                    side.event = _unbound_event("LOAD_LOCAL", args[pc] if how == LOAD_USER else None, value)
                    return True
                stack.append(value)
            elif how == CONST_OP:
                stack.append(args[pc])
            elif how == PLAIN_EVENT:
                key, looks, pops, pushes, properties = args[pc]
                side.pc = pc
                side.event = (key, stack[-looks:] if looks else [], pops, pushes, ADVANCE, properties)
                return True
            elif how == STORE_USER:
                value = stack.pop()
                if value == self.terms.null:
                    names.pop(args[pc], None)
                else:
                    names[args[pc]] = value
                side.dirty.append(args[pc])
            elif how == CALL_OP:
                side.pc = pc
                side.event = self.call_event(args[pc], stack)
                return True
            elif how == READ_SHARED:
                stack.append(self.read_shared(side, pair, args[pc]))
            elif how == BRANCH:
                side.pc = pc
                pc = self.branch(side, pair, args[pc])
                if pc < 0:
                    return pc == STOP
                continue
            elif how == POP_OP:
                stack.pop()
            elif how == COPY_OP:
                stack.append(stack[-args[pc]])
            elif how == SWAP_OP:
                other = -args[pc]
                stack[-1], stack[other] = stack[other], stack[-1]
            elif how == STORE_TEMP:
                value = stack.pop()
                if value == self.terms.null:
                    temps.pop(args[pc], None)
                else:
                    temps[args[pc]] = value
                side.touched = True
            elif how == JUMP_OP:
                pc = args[pc]
                self.spend()
                continue
            else:
                side.pc = pc
                after = _SPECIAL[plan.kinds[pc]](self, plan, side, pair)
                if after == STOP:
                    return True
                pc = after
                continue
            pc += 1

    def spend(self) -> None:
        """Count a jump, so that a silent loop ends."""
        self.jumps_left -= 1
        if self.jumps_left < 0:
            raise Unsupported("too much work")

    def read_shared(self, side: Side, pair: Pair, name: str) -> int:
        """A global or the content of a shared cell: the same until the next event."""
        side.reads.add(name)
        value = pair.seen.get(name)
        if value is None:
            value = pair.seen[name] = self.terms.symbol(GLOBAL, name)
        return value

    def call_event(self, arg: Any, stack: List[int]) -> Event:
        """The event of a CALL; wherever NULL is, the operands are the callable and its arguments."""
        argc, key, layout = arg
        if layout is PLAIN:
            return key, stack[-argc - 1 :], argc + 1, 1, ADVANCE, 0
        operands = stack[-argc - 2 :]
        null = self.terms.null
        if layout is NULL_FIRST:
            if operands[0] == null:
                del operands[0]
        elif operands[1] == null:
            del operands[1]
        return key, operands, argc + 2, 1, ADVANCE, 0

    def truth(self, side: Side, value: int) -> int:
        """The bool term of a value whose truth can be had silently, or 0."""
        value = side.resolve(value)
        terms = self.terms
        if value >= 0:
            kind = terms.kinds[value]
            if kind & BOOL:
                return value
            if kind & CONST and (not kind & SINGLETON or value == terms.none) and not kind & CODE:
                return terms.true if terms.data[value] else terms.false
        size = self.containers.length(side, value)
        return 0 if size is None else terms.true if size else terms.false

    def identical(self, side: Side, x: int, y: int) -> int:
        """The bool term `x is y`."""
        x, y = side.resolve(x), side.resolve(y)
        terms = self.terms
        kinds = [TUPLE if v < 0 and side.heap[v].kind == PACK else 0 if v < 0 else terms.kinds[v] for v in (x, y)]
        vague = [bool(k & (TUPLE | SLICE)) or k & (CONST | SINGLETON) == CONST for k in kinds]
        if any(vague):
            other = kinds[1] if vague[0] else kinds[0]
            if not all(vague) and (other & SINGLETON or min(x, y) < 0):
                return terms.false
            raise Unsupported("the identity of an immutable value is asked for")
        if x == y:
            return terms.true
        if x < 0 or y < 0 or (kinds[0] & SINGLETON and kinds[1] & SINGLETON):
            return terms.false
        if terms.none in (x, y) and (kinds[0] & BOOL or kinds[1] & BOOL):
            return terms.false
        return terms.identity(x, y)

    def decide(self, pair: Pair, term: int) -> Optional[bool]:
        """The outcome of a bool term, if this path knows it."""
        terms = self.terms
        negate = bool(terms.kinds[term] & NOT)
        base = terms.data[term] if negate else term
        if base == terms.true or base == terms.false:
            return (base == terms.true) is not negate
        outcome = pair.facts.get(base)
        return None if outcome is None else outcome is not negate

    def branch(self, side: Side, pair: Pair, arg: Any) -> int:
        """The op that a branch goes to; STOP with a truth event; UNDECIDED with a bool that is not known."""
        asks_none, sense, target = arg
        stack = side.stack
        value = stack[-1]
        if asks_none:
            term = self.identical(side, value, self.terms.none)
        else:
            term = value if value > 0 and self.terms.kinds[value] & BOOL else self.truth(side, value)
            if not term:
                side.event = (("TRUTH",), [value], 1, 1, TRUTH, BOOL)
                return STOP
        outcome = self.decide(pair, term)
        if outcome is None:
            side.event = self.terms.data[term] if self.terms.kinds[term] & NOT else term
            return UNDECIDED
        stack.pop()
        self.spend()
        return int(target) if outcome is sense else side.pc + 1


def _unbound_event(kind: str, name: Optional[str], value: int) -> Event:
    """Reading or deleting a name that is, or may be, unbound."""
    if value == UNBOUND:
        return (kind, name), [], 0, 0, RAISES, 0
    return (kind, name), [value], 0, 0, BOUND, 0


def _plain(side: Side, key: Any, looks: int, pops: int, pushes: int, properties: int = 0) -> int:
    side.event = (key, side.stack[len(side.stack) - looks :], pops, pushes, ADVANCE, properties)
    return STOP


# Special ops: (machine, plan, side, pair) -> index of the next op, or STOP with the event in side.event.
Special = Callable[[Machine, Plan, Side, Pair], int]


def _replace(side: Side, count: int, value: int) -> int:
    """Silently replace the `count` entries on top by one."""
    del side.stack[len(side.stack) - count :]
    side.stack.append(value)
    return side.pc + 1


def _push_null(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    return _replace(side, 0, m.terms.null)


def _spin(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("SPIN",), [], 0, 0, RAISES, 0)
    return STOP


def _delete_local(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name, is_temp = plan.arg[side.pc]
    names = side.temps if is_temp else side.locals
    value = names.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = _unbound_event("DELETE_LOCAL", None if is_temp else name, value)
        return STOP
    del names[name]
    if is_temp:
        side.touched = True
    else:
        side.dirty.append(name)
    return side.pc + 1


def _load_and_clear(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name, is_temp = plan.arg[side.pc]
    if name in plan.code.co_cellvars:
        raise Unsupported("a comprehension's own cell")
    side.stack.append((side.temps if is_temp else side.locals).pop(name, m.terms.null))
    if is_temp:
        side.touched = True
    else:
        side.dirty.append(name)
    return side.pc + 1


def _is_shared_cell(plan: Plan, side: Side, name: str) -> bool:
    return name in side.captured or name not in plan.code.co_cellvars


def _load_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        if plan.handlers[side.pc] is not None:
            return _plain(side, ("LOAD_CELL", name), 0, 0, 1, GLOBAL)
        return _replace(side, 0, m.read_shared(side, pair, "cell " + name))
    value = side.locals.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = _unbound_event("LOAD_LOCAL", name, value)
        return STOP
    return _replace(side, 0, value)


def _store_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        return _plain(side, ("STORE_CELL", name), 1, 1, 0)
    side.locals[name] = side.stack.pop()
    side.dirty.append(name)
    return side.pc + 1


def _delete_cell(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if _is_shared_cell(plan, side, name):
        return _plain(side, ("DELETE_CELL", name), 0, 0, 0)
    value = side.locals.get(name, UNBOUND)
    if value >= 0 and (value == UNBOUND or (m.terms.kinds[value] & MAYBE and -value not in pair.facts)):
        side.event = _unbound_event("DELETE_LOCAL", name, value)
        return STOP
    del side.locals[name]
    side.dirty.append(name)
    return side.pc + 1


def _load_closure(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    name = plan.arg[side.pc]
    if name in plan.code.co_cellvars and name not in side.captured:
        side.captured.add(name)
        side.dirty.append(name)
    return _replace(side, 0, m.terms.cell(name))


def _build_tuple(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    made = m.containers.make_tuple(side, side.stack[len(side.stack) - size :])
    return _replace(side, size, made) if made else _plain(side, ("BUILD_TUPLE", size), size, size, 1)


def _build_list(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    side.touched = True
    return _replace(side, size, m.containers.make(side, LIST, side.stack[len(side.stack) - size :]))


def _build_set(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    items = side.stack[len(side.stack) - size :]
    if not all(map(m.containers.plain_key, items)):
        return _plain(side, ("BUILD_SET", size), size, size, 1)
    side.touched = True
    return _replace(side, size, m.containers.make(side, SET, items))


def _build_slice(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    parts = tuple(side.stack[-size:])
    if min(parts) < 0 or m.terms.too_deep(parts):
        return _plain(side, ("BUILD_SLICE", size), size, size, 1)
    return _replace(side, size, m.terms.slice_of(parts))


def _build_map(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = 2 * plan.arg[side.pc]
    entries = side.stack[len(side.stack) - size :]
    made = m.containers.make_dict(side, entries[::2], entries[1::2])
    if made is None:
        return _plain(side, ("BUILD_MAP", size), size, size, 1)
    side.touched = True
    return _replace(side, size, made)


def _build_const_key_map(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    keys = m.containers.elements(side, side.stack[-1])
    values = side.stack[-size - 1 : -1]
    if keys is None or len(keys) != size:
        raise Unsupported("a dict display whose keys are not a constant tuple")
    made = m.containers.make_dict(side, keys, values)
    if made is None:
        operands = [operand for entry in zip(keys, values) for operand in entry]
        side.event = (("BUILD_MAP", 2 * size), operands, size + 1, 1, ADVANCE, 0)
        return STOP
    side.touched = True
    return _replace(side, size + 1, made)


def _into(container_op: Callable[[Machine, Side, int, List[int]], bool], taken: int) -> Special:
    """An op that pops `taken` entries and changes the container that is then the arg-th from the top."""

    def special(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
        stack = side.stack
        at = len(stack) - taken - plan.arg[side.pc]
        values = stack[-taken:]
        side.touched = True
        if container_op(m, side, stack[at], values):
            del stack[-taken:]
            return side.pc + 1
        side.event = ((plan.kinds[side.pc],), [stack[at], *values], taken, 0, ADVANCE, 0)
        return STOP

    return special


def _append(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, LIST)
    if container is None:
        return False
    container.items.append(values[0])
    side.rewrites += container.nested
    return True


def _extend(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, LIST)
    new = m.containers.elements(side, values[0])
    if container is None or new is None:
        return False
    container.items.extend(new[:])
    side.rewrites += container.nested
    return True


def _add_to_set(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, SET)
    if container is None or not m.containers.plain_key(values[0]):
        return False
    container.items.append(values[0])
    side.rewrites += container.nested
    return True


def _update_set(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, SET)
    value = side.resolve(values[0])
    if container is None or value < 0 or type(m.terms.data[value]) is not frozenset or not m.terms.kinds[value] & CONST:
        return False
    if not all(map(m.containers.plain_key, map(m.terms.const, m.terms.data[value]))):
        return False
    container.items.append(value)
    side.rewrites += container.nested
    return True


def _update_dict(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    side.rewrites += 1
    return m.containers.update_dict(side, target, values[0], merge=False)


def _merge_dict(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    side.rewrites += 1
    return m.containers.update_dict(side, target, values[0], merge=True)


def _add_to_map(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, DICT)
    if container is None:
        return False
    side.rewrites += container.nested or values[0] in (container.where or ())
    return m.containers.set_item(side, target, *values)


def _list_to_tuple(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    known = m.containers.elements(side, side.stack[-1])
    made = 0 if known is None else m.containers.make_tuple(side, known[:])
    return _replace(side, 1, made) if made else _plain(side, ("LIST_TO_TUPLE",), 1, 1, 1)


def _subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    value, key = side.stack[-2:]
    found = m.containers.get_item(side, value, key)
    return _plain(side, ("SUBSCR",), 2, 2, 1) if found is None else _replace(side, 2, found)


def _store_subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    value, target, key = side.stack[-3:]
    if not m.containers.set_item(side, target, key, value):
        return _plain(side, ("STORE_SUBSCR",), 3, 3, 0)
    side.touched = True
    side.rewrites += 1
    del side.stack[-3:]
    return side.pc + 1


def _delete_subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    target, key = side.stack[-2:]
    if not m.containers.delete_item(side, target, key):
        return _plain(side, ("DELETE_SUBSCR",), 2, 2, 0)
    side.touched = True
    side.rewrites += 1
    del side.stack[-2:]
    return side.pc + 1


def _unpack(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    known = m.containers.elements(side, side.stack[-1])
    if known is None or len(known) != size:
        return _plain(side, ("UNPACK", size), 1, 1, size)
    side.stack.pop()
    side.stack.extend(known[::-1])
    return side.pc + 1


def _unpack_ex(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    before, after = plan.arg[side.pc]
    known = m.containers.elements(side, side.stack[-1])
    if known is None or len(known) < before + after:
        return _plain(side, ("UNPACK_EX", before, after), 1, 1, before + 1 + after)
    middle = m.containers.make(side, LIST, known[before : len(known) - after])
    side.touched = True
    side.stack.pop()
    side.stack.extend((known[:before] + [middle] + known[len(known) - after :])[::-1])
    return side.pc + 1


def _is(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    term = m.identical(side, side.stack[-2], side.stack[-1])
    return _replace(side, 2, m.terms.negated(term) if plan.arg[side.pc] else term)


def _contains(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """`in` and `not in` are one event; NOT asks for its bool to be negated."""
    element, container = side.stack[-2:]
    properties = BOOL | NOT if plan.arg[side.pc] else BOOL
    side.event = (("CONTAINS",), [element, m.containers.membership(side, container)], 2, 1, ADVANCE, properties)
    return STOP


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
            return _replace(side, 2, terms.true if _FOLDED[plan.arg[side.pc]](left, right) else terms.false)
    return _plain(side, ("COMPARE", plan.arg[side.pc]), 2, 2, 1)


def _unary(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    operator = plan.arg[side.pc]
    if operator != "not":
        return _plain(side, ("UNARY", operator), 1, 1, 1)
    term = m.truth(side, side.stack[-1])
    if not term:
        side.event = (("TRUTH",), side.stack[-1:], 1, 1, TRUTH, BOOL)
        return STOP
    return _replace(side, 1, m.terms.negated(term))


def _to_bool(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    term = m.truth(side, side.stack[-1])
    if not term:
        side.event = (("TRUTH",), side.stack[-1:], 1, 1, TRUTH, BOOL)
        return STOP
    return _replace(side, 1, term)


def _call_with_names_on_stack(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    argc, _, layout = plan.arg[side.pc]
    names = side.stack[-1]
    values = [m.terms.data[name] for name in m.containers.elements(side, names) or ()]
    if names < 0 or not values or not all(type(name) is str for name in values):
        raise Unsupported("a call whose keyword names are not constant")
    key, operands, pops, pushes, how, properties = m.call_event((argc, ("CALL", tuple(values)), layout), side.stack[:-1])
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
        side.event = (("CALL", names), [operands[0], *positional, *values], pops, 1, ADVANCE, 0)
        return STOP
    if positional is not None:
        operands[1] = m.containers.make_tuple(side, positional[:]) or operands[1]
    side.event = (("CALL_EX", has_kwargs), operands, pops, 1, ADVANCE, 0)
    return STOP


def _make_function(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    flags = plan.arg[side.pc] or 0
    pops = 1 + bin(flags).count("1")
    operands = side.stack[-pops:]
    code = m.terms.data[operands[-1]] if operands[-1] > 0 and m.terms.kinds[operands[-1]] & CODE else None
    if code is None:
        raise Unsupported("a function made from something other than constant code")
    free = code.co_freevars
    if flags & CLOSURE:
        cells = m.containers.elements(side, operands[-2])
        if cells is None or len(cells) != len(free):
            raise Unsupported("a closure that is not a tuple of cells")
        ordered = [cell for _, cell in sorted(zip(free, cells))]
        operands[-2] = m.containers.make_tuple(side, ordered)
    side.event = (("MAKE_FUNCTION", flags, tuple(sorted(free))), operands, pops, 1, ADVANCE, 0)
    return STOP


def _return(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("RETURN",), side.stack[-1:], 1, 0, LEAVE, 0)
    return STOP


def _raise(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    side.event = (("RAISE", size), side.stack[len(side.stack) - size :], size, 0, RAISES, 0)
    return STOP


def _reraise(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """To the handler silently, or out of the frame."""
    handler = plan.handlers[side.pc]
    if handler is None:
        side.event = (("PROPAGATE",), side.stack[-1:], 1, 0, LEAVE, 0)
        return STOP
    exception = side.stack[-1]
    del side.stack[handler.depth :]
    if handler.lasti:
        side.stack.append(m.terms.lasti)
    side.stack.append(exception)
    m.spend()
    return handler.target


def _push_exc_info(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.stack[-1:] = [side.exc, side.stack[-1]]
    side.exc = side.stack[-1]
    return side.pc + 1


def _pop_except(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.exc = side.stack.pop()
    return side.pc + 1


def _for_iter(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    side.event = (("FOR_ITER",), side.stack[-1:], 0, 1, ITERATE, 0)
    return STOP


def _load_assertion_error(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    return _replace(side, 0, m.terms.assertion_error)


_SPECIAL: Dict[str, Special] = {
    "PUSH_NULL": _push_null, "JUMP": _spin, "DELETE_LOCAL": _delete_local, "LOAD_LOCAL_AND_CLEAR": _load_and_clear,
    "LOAD_CELL": _load_cell, "STORE_CELL": _store_cell, "DELETE_CELL": _delete_cell, "LOAD_CLOSURE": _load_closure,
    "BUILD_TUPLE": _build_tuple, "BUILD_LIST": _build_list, "BUILD_SET": _build_set, "BUILD_SLICE": _build_slice,
    "BUILD_MAP": _build_map, "BUILD_CONST_KEY_MAP": _build_const_key_map, "LIST_TO_TUPLE": _list_to_tuple,
    "LIST_APPEND": _into(_append, 1), "LIST_EXTEND": _into(_extend, 1), "SET_ADD": _into(_add_to_set, 1),
    "SET_UPDATE": _into(_update_set, 1), "DICT_UPDATE": _into(_update_dict, 1), "DICT_MERGE": _into(_merge_dict, 1),
    "MAP_ADD": _into(_add_to_map, 2), "SUBSCR": _subscr, "STORE_SUBSCR": _store_subscr,
    "DELETE_SUBSCR": _delete_subscr, "UNPACK": _unpack, "UNPACK_EX": _unpack_ex, "IS": _is, "CONTAINS": _contains,
    "COMPARE": _compare, "UNARY": _unary, "TO_BOOL": _to_bool, "CALL": _call_with_names_on_stack,
    "CALL_EX": _call_ex, "MAKE_FUNCTION": _make_function, "RETURN": _return, "RAISE": _raise, "RERAISE": _reraise,
    "PUSH_EXC_INFO": _push_exc_info, "POP_EXCEPT": _pop_except, "FOR_ITER": _for_iter,
    "LOAD_ASSERTION_ERROR": _load_assertion_error,
}  # fmt: skip
SPECIAL_KINDS = frozenset(_SPECIAL)
