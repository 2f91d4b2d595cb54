"""Weak bisimulation of two codes: both run silently to their next event, and the events must be the same.

Pairs of places are explored from the entry. Where paths meet, the state is stored; a state that is an
instance of the stored one needs no further work, any other is merged into it and explored again (joins.py).
Compared at every event:

- the event: kind, argument, operands; its results are the same new symbols in both machines;
- the user's local names: bound to the same values; invented names hold no value longer than the original does;
- the globals and shared cells read since the last event, as a set: reads commute with each other, not with
  events;
- the exception being handled, and the handlers: if the event raises, both continue in corresponding handlers.
"""

from __future__ import annotations

import heapq
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from depyf.decompiler.bytecode.microops import Handler
from depyf.decompiler.prove.correspondence import Correspondence, excuse
from depyf.decompiler.prove.flat_program import ADVANCE, BOUND, ITERATE, LEAVE, RAISES, RELEASED, TRUTH, Plan
from depyf.decompiler.prove.joins import Joins
from depyf.decompiler.prove.machine_state import Event, Pair, Side
from depyf.decompiler.prove.operations import SPECIAL
from depyf.decompiler.prove.releases import at_end, unwound
from depyf.decompiler.prove.symbolic_machine import TOO_MUCH_WORK, Machine, Unsupported
from depyf.decompiler.prove.terms import BOOL, NOT, UNBOUND, Terms
from depyf.decompiler.prove.verdict import Assumption, Divergence

Place = Tuple[int, int]
SMALL = 16  # entries of a state that is copied in one step
MOST_ENTRIES = 3_000_000  # of all states that are kept: 100 to 300 MB
_FOR_ITER, _GET_ITER = ("FOR_ITER",), ("GET_ITER", None)


class Diverged(Exception):
    """The two codes do different things."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(str(divergence))
        self.divergence = divergence


class Bisimulation:
    """One attempt to relate two plans: `exact`, or with assumptions about when values are released."""

    def __init__(
        self, a: Plan, b: Plan, terms: Terms, same_code: Callable[[int, int], bool], exact: bool, by_value: bool
    ) -> None:
        self.plan_a = a
        self.plan_b = b
        self.terms = terms
        size = a.size + b.size
        self.steps_left = 40 * size + 2_000  # proofs of real functions need fewer than one for each op
        self.exact = exact
        self.is_simple = not exact and not any(a.handlers) and not any(b.handlers)
        self.same_slots = a.slots == b.slots
        self.machine = Machine(terms, SPECIAL, 40 * size + 2_000, exact, by_value)
        self.correspondence = Correspondence(terms, same_code, by_value)
        self.joins = Joins(self.machine, self.correspondence)
        self.stored: Dict[Place, Pair] = {}
        self.entries = (
            0  # of the states stored and of those to be followed: names, stack entries, facts, elements of containers
        )
        self.queue: List[Place] = []
        self.queued: Set[Place] = set()
        self.matched: Set[Place] = set()  # offsets of matched events
        self.has_temporaries = False  # whether that is known to be assumed

    @property
    def assumed(self) -> Set[Assumption]:
        """The assumptions made so far."""
        return self.correspondence.assumed

    def charge(self, steps: int) -> None:
        """Count steps of the proof; raise Unsupported when there are none left."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise Unsupported(TOO_MUCH_WORK)

    def copied(self, pair: Pair) -> Pair:
        """Return an independent copy, which large states are charged for."""
        self.charge(pair.size() // SMALL)
        return pair.copy()

    def fork(self, forks: List[Pair], pair: Pair) -> None:
        """Put a state aside that will be followed later."""
        self.keep(pair.size())
        forks.append(pair)

    def keep(self, entries: int) -> None:
        """Count the entries of states that are kept; raise Unsupported when they would need too much memory."""
        self.entries += entries
        if self.entries > MOST_ENTRIES:
            raise Unsupported(TOO_MUCH_WORK)

    def run(self, start: Pair) -> None:
        """Relate the two codes from their entries; raise Diverged or Unsupported if that fails."""
        self.explore(start, None)
        while self.queue:
            place = heapq.heappop(self.queue)
            self.queued.discard(place)
            self.explore(self.copied(self.stored[place]), place)

    def explore(self, pair: Pair, at: Place | None) -> None:
        """Follow all paths from `pair` to stored places; `at` is the place where `pair` itself is stored."""
        forks: List[Pair] = [pair]
        machine, plan_a, plan_b = self.machine, self.plan_a, self.plan_b
        while forks:
            following = forks.pop()
            if following is not pair:
                self.entries -= following.size()
            current: Pair | None = following
            while current is not None:
                self.steps_left -= 1
                if self.steps_left < 0:
                    raise Unsupported(TOO_MUCH_WORK)
                event_a = machine.advance(plan_a, current.a, current)
                event_b = machine.advance(plan_b, current.b, current)
                if event_a and event_b:
                    current = self.at_events(current, at, forks)
                else:
                    current = self.at_branch(current, at, forks, event_a, event_b)
                at = None

    def at_branch(self, pair: Pair, at: Place | None, forks: List[Pair], event_a: bool, event_b: bool) -> Pair | None:
        """Follow both outcomes of a branch, of one side or both, on an undecided bool."""
        a, b = pair.a, pair.b
        if not event_a and not event_b and a.event == b.event:
            if a.dirty or b.dirty:
                self.clear_agreeing(pair)
            agree = a.reads == b.reads and a.captured == b.captured and a.released == b.released
            if pair.crossed and at != (a.pc, b.pc) and agree:
                a.released, b.released = [], []
                self.arrive((a.pc, b.pc), pair)
                return None
            self.matched.add((self.plan_a.offsets[a.pc], self.plan_b.offsets[b.pc]))
        term = b.event if event_a else a.event
        other = self.copied(pair)
        other.facts[term] = False
        self.fork(forks, other)
        pair.facts[term] = True
        return pair

    def arrive(self, place: Place, pair: Pair) -> None:
        """Store the state where paths meet, or merge it with the one stored there."""
        old = self.stored.get(place)
        pair.a.settle()
        pair.b.settle()
        if old is None:
            pair = self.copied(pair)
            self.joins.prune(pair)
        elif self.joins.covers(old, pair):
            return
        else:
            pair = self.joins.generalise(old, pair)
        pair.seen = {}
        pair.crossed = False
        pair.handled = None
        self.stored[place] = pair
        size = pair.size()
        self.charge(size // SMALL)
        self.keep(size - (old.size() if old is not None else 0))
        if place not in self.queued:
            self.queued.add(place)
            heapq.heappush(self.queue, place)

    def at_events(self, pair: Pair, at: Place | None, forks: List[Pair]) -> Pair | None:
        """Compare the events of both sides and return the state after them, or None where the path ends."""
        a, b = pair.a, pair.b
        event_a: Event = a.event
        event_b: Event = b.event
        mode = event_a[4]
        if mode == ADVANCE and self.is_simple and event_a[1] == event_b[1] and event_a[0] == event_b[0]:
            noted = pair.crossed or a.reads or b.reads or a.released or b.released or a.dirty or b.dirty
            if not noted and a.exc == b.exc:  # most events of long code: nothing is compared but what both hold
                self.matched.add((self.plan_a.offsets[a.pc], self.plan_b.offsets[b.pc]))
                self.compare_lifetimes(pair, event_a, event_b, None)
                if pair.seen:
                    pair.seen = {}
                return self.commit(pair, event_a, event_b, forks)
        if event_a[0] != event_b[0]:
            if event_a[0] == _FOR_ITER and event_b[0] == _GET_ITER and event_a[1] == event_b[1]:
                # A `for` statement calls `iter`; a loop resumed in the middle already has its iterator.
                self.assumed.add(Assumption.ITERATORS_GIVE_THEMSELVES)
                b.pc += 1
                return pair
            if self.exact or event_a[0][:2] != event_b[0][:2] or event_a[0][0] != "CALL":
                raise self.diverged(pair, self.describe(event_a), self.describe(event_b))
            self.assumed.add(Assumption.TEMPORARIES)  # only the tuple of `f(*t)` holds the arguments during the call
        if a.reads or b.reads:
            self.compare_reads(pair)
        if event_a[0][0] == "RETURN":
            self.compare_operands(pair, event_a, event_b)
            if self.exact:
                self.compare_ends(pair, a.stack[-1:], b.stack[-1:])
            elif self.ends_differ(pair):
                self.assumed.add(Assumption.RELEASE_ORDER)
            self.matched.add((self.plan_a.offsets[a.pc], self.plan_b.offsets[b.pc]))
            return None
        if a.released or b.released:
            self.compare_releases(pair)
        if a.dirty or b.dirty:
            self.compare_locals(pair)
        if a.exc != b.exc:
            raise self.diverged(pair, f"handling {self.terms.text(a.exc)}", f"handling {self.terms.text(b.exc)}")
        if mode == RELEASED:
            if event_a[1] != event_b[1]:
                raise self.diverged(pair, self.describe(event_a), self.describe(event_b))
            del a.pending[0], b.pending[0]
            pair.seen = {}
            return pair
        if pair.crossed and mode != LEAVE:
            place = (a.pc, b.pc)
            if at != place:
                self.arrive(place, pair)
                return None
            pair.crossed = False
        used = None
        if event_a[1] != event_b[1]:
            # What the operands hold before the containers among them escape, and those containers afterwards.
            used = self.correspondence.held(a, event_a[1], through_lists=False)
            self.compare_operands(pair, event_a, event_b)
            used.update(self.correspondence.held(a, event_a[1], through_lists=False))
        self.matched.add((self.plan_a.offsets[a.pc], self.plan_b.offsets[b.pc]))
        if mode == LEAVE:
            if self.exact:
                self.compare_exact_lifetimes(pair, event_a, event_b, None, None)
            return None
        if not self.exact:
            self.compare_lifetimes(pair, event_a, event_b, used)
        handler_a, handler_b = self.plan_a.handlers[a.pc], self.plan_b.handlers[b.pc]
        if self.exact:
            self.compare_exact_lifetimes(pair, event_a, event_b, handler_a, handler_b)
        if handler_a is not None or handler_b is not None:
            self.enter_handlers(pair, handler_a, handler_b)
        if pair.seen:
            pair.seen = {}
        return self.commit(pair, event_a, event_b, forks)

    def commit(self, pair: Pair, event_a: Event, event_b: Event, forks: List[Pair]) -> Pair | None:
        """Return the state after an event that did not raise, or None where the path ends."""
        a, b = pair.a, pair.b
        key, operands, pops, pushes, mode, properties = event_a
        terms = self.terms
        if mode == ADVANCE:
            if pops:
                del a.stack[-pops:]
            if event_b[2]:
                del b.stack[-event_b[2] :]
            if pushes == 1 and not (properties | event_b[5]) & NOT:
                result = terms.symbol(properties, (key[0], self.plan_a.offsets[a.pc]))
                a.stack.append(result)
                b.stack.append(result)
            elif pushes:
                origin = (key[0], self.plan_a.offsets[a.pc])
                results = [terms.symbol(properties & ~NOT, origin) for _ in range(pushes)]
                a.stack += results if not properties & NOT else [terms.negated(results[0])]
                b.stack += results if not event_b[5] & NOT else [terms.negated(results[0])]
            if key[0] == "CHECK_EG_MATCH":
                # The matched part of the group, if any, becomes the exception being handled.
                a.exc = b.exc = terms.symbol(0, "the group being handled")
            a.pc += 1
            b.pc += 1
        elif mode == TRUTH:
            a.stack[-1] = b.stack[-1] = terms.symbol(BOOL, ("truth", self.plan_a.offsets[a.pc]))
        elif mode == BOUND:
            pair.facts[-a.resolve(operands[0])] = True
        elif mode == ITERATE:
            done = self.copied(pair)
            for side, plan in ((done.a, self.plan_a), (done.b, self.plan_b)):
                side.stack.pop()
                side.pc = plan.ops[side.pc].target
            self.fork(forks, done)
            item = terms.symbol(0, ("item", self.plan_a.offsets[a.pc]))
            a.stack.append(item)
            b.stack.append(item)
            a.pc += 1
            b.pc += 1
        elif mode == RAISES:
            return None
        return pair

    def enter_handlers(self, pair: Pair, handler_a: Handler | None, handler_b: Handler | None) -> None:
        """Store the states in which the event raises: both sides in their handlers, or leaving the frame."""
        a, b = pair.a, pair.b
        cut_a = a.stack[: handler_a.depth] if handler_a else None
        cut_b = b.stack[: handler_b.depth] if handler_b else None
        now = (handler_a, handler_b, cut_a, cut_b, a.exc)
        if pair.handled == now and not a.touched and not b.touched:
            return
        a.touched = b.touched = False
        pair.handled = now
        exception = self.terms.symbol(0, ("exception", self.plan_a.offsets[a.pc]))
        raised = self.copied(pair)
        raised.handled = None
        for side, handler, plan in ((raised.a, handler_a, self.plan_a), (raised.b, handler_b, self.plan_b)):
            if handler is None:
                side.stack, side.pc = [exception], plan.size
                continue
            if len(side.stack) < handler.depth:
                raise Unsupported("a handler wants more stack than there is")
            del side.stack[handler.depth :]
            if handler.lasti:
                side.stack.append(self.terms.lasti)
            side.stack.append(exception)
            side.pc = handler.target
        if raised.b.temps:
            excuse(self.terms, raised)
        self.arrive((raised.a.pc, raised.b.pc), raised)

    # ---- comparisons at an event

    def compare_reads(self, pair: Pair) -> None:
        """Require that both sides read the same globals and shared cells since the last event."""
        a, b = pair.a, pair.b
        if a.reads != b.reads or (self.exact and list(a.reads) != list(b.reads)):
            only_a, only_b = (
                [name for name in a.reads if name not in b.reads],
                [name for name in b.reads if name not in a.reads],
            )
            if not only_a and not only_b:
                only_a, only_b = list(a.reads), list(b.reads)
            raise self.diverged(
                pair,
                f"reads {', '.join(only_a) or 'nothing more'} before {self.describe(a.event)}",
                f"reads {', '.join(only_b) or 'nothing more'} before {self.describe(b.event)}",
            )
        a.reads.clear()
        b.reads.clear()

    def compare_locals(self, pair: Pair) -> None:
        """Require that the user's names hold the same values; fresh containers in them escape now."""
        a, b = pair.a, pair.b
        escaping: List[Tuple[int, int]] = []
        if a.captured != b.captured:
            # One side took a cell earlier than the other. Until both have taken it, nothing else can reach it.
            # Treating it as reachable on both sides, with equal contents, claims less than is known: sound.
            both = a.captured | b.captured
            a.dirty = [*a.dirty, *(both - a.captured)]
            b.dirty = [*b.dirty, *(both - b.captured)]
            a.captured, b.captured = set(both), set(both)
        if a.dirty != b.dirty and ("" in a.dirty or "" in b.dirty):
            if self.exact:
                raise self.diverged(pair, f"stores {_names(a.dirty)}", f"stores {_names(b.dirty)}")
            self.assumed.add(Assumption.RELEASE_ORDER)
        for name in {*a.dirty, *b.dirty}:
            x, y = a.locals.get(name, UNBOUND), b.locals.get(name, UNBOUND)
            if x != y:
                if x >= 0 or y >= 0:
                    x, y = a.resolve(x), b.resolve(y)
                    if x != y and (x >= 0 or y >= 0):
                        text = self.terms.text
                        raise self.diverged(pair, f"{name} is {text(x)}", f"{name} is {text(y)}")
                escaping.append((x, y))
        if escaping and not self.correspondence.escape(a, b, escaping):
            raise self.diverged(pair, "a local holds one container", "the local holds another one")
        for side in (a, b):
            for name in side.dirty:
                value = side.locals.get(name, UNBOUND)
                if value < 0:
                    side.locals[name] = side.resolve(value)
                if name in side.captured:
                    side.locals.pop(name, None)
        a.dirty, b.dirty = [], []
        pair.handled = None

    def compare_releases(self, pair: Pair) -> None:
        """Compare the order in which names released values since the last event; assume where it differs."""
        a, b = pair.a, pair.b
        if a.released != b.released:
            left = [value for value in a.released if value > 0 and value in b.released]
            right = [value for value in b.released if value > 0 and value in a.released]
            if left != right:
                self.assumed.add(Assumption.RELEASE_ORDER)
        a.released, b.released = [], []

    def clear_agreeing(self, pair: Pair) -> None:
        """Clear the written names if all agree, so that they need no comparison at the next event."""
        a, b = pair.a, pair.b
        if a.captured == b.captured:
            for name in {*a.dirty, *b.dirty}:
                value = a.locals.get(name, UNBOUND)
                if value < 0 or value != b.locals.get(name, UNBOUND):
                    return
            self.compare_locals(pair)

    def compare_operands(self, pair: Pair, event_a: Event, event_b: Event) -> None:
        """Require equal operands; containers among them are shared from now on."""
        makes_function = event_a[0][0] == "MAKE_FUNCTION"
        if len(event_a[1]) != len(event_b[1]) or not self.correspondence.escape(
            pair.a, pair.b, zip(event_a[1], event_b[1]), compare_codes=makes_function
        ):
            raise self.diverged(pair, self.describe(event_a), self.describe(event_b))

    def compare_lifetimes(self, pair: Pair, event_a: Event, event_b: Event, used: Dict[int, None] | None) -> None:
        """Require that B holds no value longer than A. `used`: what the operands hold, if already computed."""
        a, b = pair.a, pair.b
        # Only what B alone holds counts once this is assumed: at most events of a long frame that is nothing.
        if self.has_temporaries and self.correspondence.holds_no_more(pair, event_a[2], event_b[2]):
            return
        rest_a = a.stack[: len(a.stack) - event_a[2]]
        rest_b = b.stack[: len(b.stack) - event_b[2]]
        if a.temps == b.temps and (rest_a == rest_b or self.correspondence.stacks_equal(pair, rest_a, rest_b)):
            return
        value = self.correspondence.kept_too_long(pair, rest_a, rest_b, event_a[1], used)
        if value:
            text = self.terms.text(value)
            raise self.diverged(pair, f"has let go of {text}", f"still holds {text}")
        self.has_temporaries = Assumption.TEMPORARIES in self.assumed

    def compare_exact_lifetimes(
        self, pair: Pair, event_a: Event, event_b: Event, handler_a: Handler | None, handler_b: Handler | None
    ) -> None:
        """Require that both hold the same values, and lose them in the same order if the event raises."""
        a, b = pair.a, pair.b
        rest_a = a.stack[: len(a.stack) - event_a[2]]
        rest_b = b.stack[: len(b.stack) - event_b[2]]
        depth_a, depth_b = handler_a.depth if handler_a else 0, handler_b.depth if handler_b else 0
        if rest_a != rest_b and not self.correspondence.stacks_equal(pair, rest_a, rest_b):
            early, late = self.correspondence.held_by_one(a, b, {*rest_a}, {*rest_b})
            users = self.correspondence.held(a, a.locals.values()) if early or late else {}
            for values, texts in ((early, ("holds", "has released")), (late, ("has released", "holds"))):
                for value in values:
                    if value not in users:
                        text = self.terms.text(value)
                        raise self.diverged(pair, f"{texts[0]} {text}", f"{texts[1]} {text}")
        elif depth_a == depth_b and (handler_a or handler_b or self.same_slots):
            return
        lost_a = unwound(self.terms, a, rest_a, depth_a)
        lost_b = unwound(self.terms, b, rest_b, depth_b)
        if lost_a != lost_b:
            raise self.diverged(pair, f"loses {self.texts(lost_a)}", f"loses {self.texts(lost_b)}")
        if handler_a is None and handler_b is None and not self.same_slots:
            self.compare_ends(pair, [], [])

    def ends_differ(self, pair: Pair) -> bool:
        """Return whether the user's variables hold other values at the end: then others are released there."""
        a, b = pair.a, pair.b
        for name in {*a.dirty, *b.dirty}:
            x, y = a.resolve(a.locals.get(name, UNBOUND)), b.resolve(b.locals.get(name, UNBOUND))
            if x != y and (x >= 0 or y >= 0):
                return True
        return False

    def compare_ends(self, pair: Pair, result_a: List[int], result_b: List[int]) -> None:
        """Require that the frames give up their values in the same order at their ends; the results survive."""
        a, b = pair.a, pair.b
        if self.same_slots and a.stack == b.stack and a.captured == b.captured and a.locals == b.locals:
            if not a.heap and not b.heap:
                return
        end_a = at_end(self.terms, self.plan_a, a, result_a)
        end_b = at_end(self.terms, self.plan_b, b, result_b)
        if end_a != end_b:
            text_a, text_b = [self.texts([name or value for name, value in end]) for end in (end_a, end_b)]
            raise self.diverged(pair, f"releases {text_a} at its end", f"releases {text_b} at its end")

    # ---- texts

    def texts(self, values: Sequence[int | str]) -> str:
        """Return some values as text."""
        return (
            ", ".join([value if isinstance(value, str) else self.terms.text(value) for value in values[:8]])
            or "nothing"
        )

    def diverged(self, pair: Pair, event_a: str, event_b: str) -> Diverged:
        """Return the exception for a difference found at this place."""
        offset_a, offset_b = self.plan_a.offsets[pair.a.pc], self.plan_b.offsets[pair.b.pc]
        return Diverged(Divergence(offset_a, offset_b, event_a, event_b))

    def describe(self, event: Any) -> str:
        """Return an event as text."""
        key, operands = event[0], event[1]
        name = " ".join([str(key[0]).lower(), *[str(part) for part in key[1:] if part not in (None, ())]])
        return f"{name}({', '.join(self.terms.text(operand) for operand in operands[:8])})"


def _names(dirty: List[str]) -> str:
    """Return the names written since the last event as text; a read of a global in between is "..."."""
    return ", ".join([name or "..." for name in dirty])


def entry_side(terms: Terms, arguments: Tuple[str, ...]) -> Side:
    """Return the machine at the first instruction: only the parameters are bound."""
    side = Side()
    for name in arguments:
        side.locals[name] = terms.known.get(("argument", name)) or _argument(terms, name)
    side.exc = terms.outer
    return side


def _argument(terms: Terms, name: str) -> int:
    term = terms.known["argument", name] = terms.symbol(0, name)
    return term
