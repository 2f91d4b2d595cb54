"""The symbolic machine: run one code silently to its next event, or to a branch on an undecided bool."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from depyf.decompiler.bytecode.microops import NULL_FIRST, PLAIN
from depyf.decompiler.prove.flat_program import (
    ADVANCE,
    BOUND,
    BRANCH,
    CALL_OP,
    CONST_OP,
    COPY_OP,
    DELETE_TEMP,
    JUMP_OP,
    LOAD_TEMP,
    LOAD_USER,
    PLAIN_EVENT,
    POP_OP,
    RAISES,
    READ_SHARED,
    RELEASED,
    STORE_TEMP,
    STORE_USER,
    SUBSCR_OP,
    SWAP_OP,
    TRUTH,
    Plan,
)
from depyf.decompiler.prove.fresh_containers import Containers
from depyf.decompiler.prove.machine_state import PACK, Event, Pair, Side
from depyf.decompiler.prove.releases import drop, elements
from depyf.decompiler.prove.terms import (
    BOOL,
    CODE,
    CONST,
    GLOBAL,
    INSTALLED,
    MAYBE,
    NOT,
    ONE,
    SINGLETON,
    SLICE,
    SYMBOL,
    TUPLE,
    UNBOUND,
    UNIQUE,
    Terms,
)

STOP = -1  # an op that is an event
UNDECIDED = -2  # a branch on a bool that neither the terms nor the path decide
# Silent ops that only push or move values: the frame holds afterwards what it held before.
NEVER_RELEASE = frozenset({
    "PUSH_NULL", "LOAD_CELL", "LOAD_CLOSURE", "LOAD_ASSERTION_ERROR", "LOAD_LOCAL_AND_CLEAR", "PUSH_EXC_INFO",
    "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_SLICE", "LIST_APPEND", "LIST_TO_TUPLE", "SET_ADD", "JUMP",
    "RERAISE",
})  # fmt: skip
# Those that may take values out of a fresh container.
_REWRITE = frozenset(
    {"STORE_SUBSCR", "DELETE_SUBSCR", "MAP_ADD", "MAP_ADD_VALUE_FIRST", "DICT_UPDATE", "DICT_MERGE", "INPLACE"}
)
_SUBSCR = ("SUBSCR",)
_PLAIN_CALL = ("CALL", ())
_SAME_AS_OP: Dict[Any, Tuple[Any, ...]] = {
    iter: ("GET_ITER", None), str: ("CONVERT", "s"), repr: ("CONVERT", "r"), ascii: ("CONVERT", "a"),
}  # fmt: skip


# The function of one kind of op: returns the index of the next op, or STOP with the event in side.event.
Special = Callable[["Machine", Plan, Side, Pair], int]


TOO_MUCH_WORK = "too much work"  # for the budget of the proof


class Unsupported(Exception):
    """The proof cannot continue, and why. Never means that the codes are the same."""


class Machine:
    """The silent half of the semantics; its only state is the budget of jumps.

    `special` maps the ops that the loop below does not run itself to their functions (operations.py). If `exact`,
    each release of a last reference is an event (releases.py).
    """

    __slots__ = ("called", "containers", "exact", "jumps_left", "special", "terms")

    def __init__(self, terms: Terms, special: Dict[str, Special], budget: int, exact: bool, by_value: bool) -> None:
        self.terms = terms
        self.exact = exact
        # Builtins that do what an op does: text that cannot spell the op calls the builtin, a constant.
        self.called = {terms.const(builtin): key for builtin, key in _SAME_AS_OP.items()}
        self.special = special
        self.containers = Containers(terms, by_value)
        self.jumps_left = budget

    def advance(self, plan: Plan, side: Side, pair: Pair) -> bool:
        """Run `side` until `side.event` is an Event (True) or an undecided bool term (False)."""
        run, args, labels = plan.run, plan.arg, plan.labels
        stack, names, temps, kinds = side.stack, side.locals, side.temps, self.terms.kinds
        pc = side.pc
        if side.pending:
            return _released(side, pc)
        exact = self.exact
        last = side.event
        again = pc if type(last) is tuple and last[4] in (TRUTH, BOUND) else -1  # this op continues after its event
        while True:
            if labels[pc]:
                if pc != again:
                    pair.crossed = True
                again = -1
            how = run[pc]
            if how <= LOAD_USER:
                value = (temps if how == LOAD_TEMP else names).get(args[pc], UNBOUND)
                if value >= 0 and (value == UNBOUND or (kinds[value] & MAYBE and -value not in pair.facts)):
                    side.pc = pc
                    side.event = unbound_event("LOAD_LOCAL", args[pc] if how == LOAD_USER else None, value)
                    return True
                stack.append(value)
            elif how == CONST_OP:
                stack.append(args[pc])
            elif how == SUBSCR_OP and stack[-2] >= 0 and not kinds[stack[-2]] & TUPLE:
                side.pc = pc
                side.event = (_SUBSCR, stack[-2:], 2, 1, ADVANCE, 0)  # nothing is known of the elements
                return True
            elif how == PLAIN_EVENT:
                key, operands, pops, pushes, properties = args[pc]
                side.pc = pc
                side.event = (key, stack[-operands:] if operands else [], pops, pushes, ADVANCE, properties)
                return True
            elif how == STORE_TEMP:
                value, name = stack.pop(), args[pc]
                if value == self.terms.null:
                    temps.pop(name, None)
                    side.lost_names = True
                else:
                    if name in temps:
                        side.lost_names = True
                    temps[name] = value
                    side.gained.append(value)
                side.touched = True
            elif how == DELETE_TEMP and not exact:
                name, _ = args[pc]
                value = temps.get(name, UNBOUND)
                if value >= 0 and (value == UNBOUND or (kinds[value] & MAYBE and -value not in pair.facts)):
                    side.pc = pc
                    side.event = unbound_event("DELETE_LOCAL", None, value)
                    return True
                del temps[name]
                side.touched = side.lost_names = True
            elif how == COPY_OP:
                stack.append(stack[-args[pc]])
            elif how == STORE_USER:
                value, name = stack.pop(), args[pc]
                old = names.get(name, UNBOUND)
                if value == self.terms.null:
                    names.pop(name, None)
                else:
                    names[name] = value
                side.dirty.append(name)
                if not exact:
                    if old:
                        side.released.append(old)
                elif old and self.drops(side, old):
                    return _released(side, pc + 1)
            elif how == CALL_OP:
                side.pc = pc
                side.event = self.call_event(side, args[pc], stack)
                return True
            elif how == READ_SHARED:
                stack.append(self.read_shared(side, pair, args[pc]))
            elif how == BRANCH:
                side.pc = pc
                pc = self.branch(side, pair, args[pc])
                if pc < 0:
                    return pc == STOP
                if side.pending:
                    return _released(side, pc)
                continue
            elif how == POP_OP:
                value = stack.pop()
                if exact and self.drops(side, value):
                    return _released(side, pc + 1)
            elif how == SWAP_OP:
                other = -args[pc]
                stack[-1], stack[other] = stack[other], stack[-1]
            elif how == JUMP_OP:
                pc = args[pc]
                self.spend()
                continue
            else:
                side.pc = pc
                kind = plan.ops[pc].kind
                before = self.before(side, kind) if exact and kind not in NEVER_RELEASE else None
                after = self.special[kind](self, plan, side, pair)
                if after == STOP:
                    return True
                pc = after
                if before is not None:
                    self.drop_changed(side, before)
                if side.pending:
                    return _released(side, pc)
                continue
            pc += 1

    def drops(self, side: Side, value: int) -> bool:
        """Add what `value` held and nothing else holds to the pending releases; return whether there are any."""
        if value >= 0 and not self.terms.kinds[value] & (SYMBOL | TUPLE | SLICE):
            return False
        drop(self.terms, side, (value,))
        return bool(side.pending)

    def before(self, side: Side, kind: str) -> List[int]:
        """Return the stack before an op; before one that may take values out of a container, they come first."""
        if kind not in _REWRITE:
            return side.stack[:]
        held: List[int] = []
        for value in map(side.resolve, dict.fromkeys(side.stack)):
            if value < 0:
                held += elements(side.heap[value])
        return held + side.stack

    def drop_changed(self, side: Side, before: List[int]) -> None:
        """Add to the pending releases what a silent op took from names, or from the stack, and nothing holds now."""
        gone, side.released = [*side.released, *before], []
        drop(self.terms, side, gone)

    def spend(self) -> None:
        """Count a jump and raise Unsupported when the budget is spent, so that silent loops end."""
        self.jumps_left -= 1
        if self.jumps_left < 0:
            raise Unsupported(TOO_MUCH_WORK)

    def read_shared(self, side: Side, pair: Pair, name: str) -> int:
        """Return the value of a global or of a shared cell: one symbol until the next event."""
        side.reads[name] = None
        if side.dirty:
            side.dirty.append("")  # if the name is missing, the read raises: the writes before it are visible then
        value = pair.seen.get(name)
        if value is None:
            value = pair.seen[name] = self.terms.symbol(GLOBAL, name)
        return value

    def call_event(self, side: Side, arg: Any, stack: List[int]) -> Event:
        """Return the event of a CALL: the callable and its arguments, without the NULL beside them."""
        argc, key, layout = arg
        if layout is PLAIN:
            return self._called(side, key, stack[-argc - 1 :], argc + 1)
        operands = stack[-argc - 2 :]
        null = self.terms.null
        if layout is NULL_FIRST:
            if operands[0] == null:
                del operands[0]
        elif operands[1] == null:
            del operands[1]
        return self._called(side, key, operands, argc + 2)

    def _called(self, side: Side, key: Any, operands: List[int], pops: int) -> Event:
        """Return the event of a call; a call of the constant builtin `iter` is the event of GET_ITER."""
        if len(operands) == 2 and key == _PLAIN_CALL and operands[0] in self.called:
            return self.called[operands[0]], operands[1:], pops, 1, ADVANCE, 0
        if operands[0] == self.terms.join and len(operands) == 2 and key == _PLAIN_CALL:
            parts = self.containers.tuple_parts(side, operands[1])
            if parts is not None:  # `''.join((x, y))` is BUILD_STRING
                return ("BUILD_STRING", len(parts)), parts, pops, 1, ADVANCE, 0
        return key, operands, pops, 1, ADVANCE, 0

    def truth(self, side: Side, value: int) -> int:
        """Return the bool term of a value whose truth needs no event, or 0."""
        value = side.resolve(value)
        terms = self.terms
        if value >= 0:
            kind = terms.kinds[value]
            if kind & BOOL:
                return value
            # Objects that are no literals may have a `__bool__`.
            is_literal = not kind & SINGLETON or value == terms.none or terms.data[value] is ...
            if kind & CONST and is_literal and not kind & CODE:
                return terms.true if terms.data[value] else terms.false
        size = self.containers.length(side, value)
        return 0 if size is None else terms.true if size else terms.false

    def identical(self, side: Side, x: int, y: int) -> int:
        """Return the bool term `x is y`."""
        x, y = side.resolve(x), side.resolve(y)
        terms = self.terms
        kinds = [self._identity_kind(side, value) for value in (x, y)]
        vague = [kind & (TUPLE | UNIQUE) == TUPLE or kind & SLICE or kind & (CONST | ONE) == CONST for kind in kinds]
        if any(vague):
            other = kinds[1] if vague[0] else kinds[0]
            if not all(vague) and not other & INSTALLED and (other & ONE or min(x, y) < 0):
                return terms.false
            if self.containers.by_value and (kinds[0] | kinds[1]) & TUPLE:
                raise Unsupported("the identity of a tuple is asked for")
            return terms.identity(x, y)  # which objects constants are is not compared; even `x is x` is not decided
        if x == y:
            return terms.true
        if (kinds[0] | kinds[1]) & INSTALLED and min(x, y) >= 0:
            return terms.identity(x, y)  # two of them may be one object, or None
        if x < 0 or y < 0 or kinds[0] & kinds[1] & CONST:
            return terms.false
        if terms.none in (x, y) and (kinds[0] & BOOL or kinds[1] & BOOL):
            return terms.false
        return terms.identity(x, y)

    def _identity_kind(self, side: Side, value: int) -> int:
        if value >= 0:
            return self.terms.kinds[value]
        return TUPLE if self.containers.by_value and side.heap[value].kind == PACK else 0

    def decide(self, pair: Pair, term: int) -> bool | None:
        """Return the outcome of a bool term on this path, or None if it is undecided."""
        terms = self.terms
        negate = bool(terms.kinds[term] & NOT)
        base = terms.data[term] if negate else term
        if base == terms.true or base == terms.false:
            return (base == terms.true) is not negate
        outcome = pair.facts.get(base)
        return None if outcome is None else outcome is not negate

    def branch(self, side: Side, pair: Pair, arg: Any) -> int:
        """Return the index a branch leads to, STOP at a truth event, or UNDECIDED with the bool in side.event."""
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
        if self.exact:
            self.drops(side, value)
        self.spend()
        return int(target) if outcome is sense else side.pc + 1


def _released(side: Side, pc: int) -> bool:
    """Stop at the release of the first pending value; the machine continues at `pc`."""
    side.pc = pc
    side.event = (("RELEASE",), side.pending[:1], 0, 0, RELEASED, 0)
    return True


def plain(side: Side, key: Tuple[Any, ...], operands: int, pops: int, pushes: int, properties: int = 0) -> int:
    """Stop at an event whose operands are the top `operands` stack entries."""
    side.event = (key, side.stack[len(side.stack) - operands :], pops, pushes, ADVANCE, properties)
    return STOP


def replace(side: Side, count: int, value: int) -> int:
    """Silently replace the top `count` stack entries by one."""
    del side.stack[len(side.stack) - count :]
    side.stack.append(value)
    return side.pc + 1


def unbound_event(kind: str, name: str | None, value: int) -> Event:
    """Return the event of reading or deleting a name that is, or may be, unbound."""
    if value == UNBOUND:
        return (kind, name), [], 0, 0, RAISES, 0
    return (kind, name), [value], 0, 0, BOUND, 0
