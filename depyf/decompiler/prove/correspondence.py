"""Correspondence: when values of the two machines are equal, and which values each machine keeps alive.

Terms are shared, so equal ints are equal values. Fresh containers correspond when they have the same kind and
corresponding content, one to one: two names of one list in one machine must be two names of one list in the
other.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterable, List, Set, Tuple

from depyf.decompiler.prove.machine_state import PACK, Pair, Side
from depyf.decompiler.prove.terms import CODE, GLOBAL, Terms
from depyf.decompiler.prove.verdict import Assumption

_FEW = 8  # values that are searched for one by one


class Correspondence:
    """Compare the values of the two machines of a Pair."""

    __slots__ = ("assumed", "by_value", "same_code", "terms")

    def __init__(self, terms: Terms, same_code: Callable[[int, int], bool], by_value: bool) -> None:
        self.terms = terms
        self.by_value = by_value  # whether equal tuples are one
        self.same_code = same_code
        self.assumed: Set[Assumption] = set()

    def escape(
        self,
        a: Side,
        b: Side,
        wanted: Iterable[Tuple[int, int]],
        *,
        commit: bool = True,
        compare_codes: bool = False,
    ) -> bool:
        """Return whether all pairs of values correspond; if so, and with `commit`, share their containers.

        Code objects correspond only if they are one object; with `compare_codes`, also if `same_code` holds.
        """
        found = self._match(a, b, list(wanted), compare_codes)
        if found is None:
            return False
        if commit:
            self._share(a, b, found)
        return True

    def _match(
        self, a: Side, b: Side, work: List[Tuple[int, int]], compare_codes: bool
    ) -> List[Tuple[int, int]] | None:
        """Return the pairs of containers that must become one, or None if the values do not correspond."""
        to_b: Dict[int, int] = {}
        to_a: Dict[int, int] = {}
        seen: Dict[Tuple[int, int], None] = {}
        while work:
            x, y = work.pop()
            x, y = self._as_term(a, a.resolve(x)), self._as_term(b, b.resolve(y))
            if x == y or (x, y) in seen:
                continue
            if x >= 0 or y >= 0:
                if compare_codes and min(x, y) >= 0 and self._codes(x, y) and self.same_code(x, y):
                    continue
                return None
            left, right = a.heap[x], b.heap[y]
            if left.kind != right.kind or len(left.items) != len(right.items) or left.keys != right.keys:
                return None
            # Where equal tuples are one, one may correspond to several.
            if (left.kind != PACK or not self.by_value) and (to_b.setdefault(x, y) != y or to_a.setdefault(y, x) != x):
                return None
            seen[x, y] = None
            work.extend(zip(left.items, right.items))
        return list(seen)

    def _codes(self, x: int, y: int) -> bool:
        return bool(self.terms.kinds[x] & self.terms.kinds[y] & CODE)

    def _as_term(self, side: Side, value: int) -> int:
        """Return the term of a tuple whose parts have all become terms; any other value as it is."""
        if value < 0 and self.by_value and side.heap[value].kind == PACK:
            items = tuple([side.resolve(item) for item in side.heap[value].items])
            if min(items, default=0) >= 0 and not self.terms.too_deep(items):
                side.heap[value].forward = self.terms.tuple_of(items)
                return side.heap[value].forward
        return value

    def _share(self, a: Side, b: Side, pairs: List[Tuple[int, int]]) -> None:
        if pairs:
            a.touched = b.touched = True
        packs = []
        for x, y in pairs:
            if a.heap[x].kind == PACK:
                packs.append((x, y))
            else:
                a.heap[x].forward = b.heap[y].forward = self.terms.symbol(0, f"the {a.heap[x].kind} made here")
        while packs:
            # No tuple contains itself through tuples alone, so each round resolves at least one.
            waiting = []
            for x, y in packs:
                items = tuple([a.resolve(item) for item in a.heap[x].items])
                if min(items) < 0:
                    waiting.append((x, y))
                    continue
                deep = self.terms.too_deep(items)
                make = self.terms.tuple_of if self.by_value else self.terms.unique_tuple
                term = self.terms.symbol() if deep else make(items)
                a.heap[x].forward = b.heap[y].forward = term
            packs = waiting

    def stacks_equal(self, pair: Pair, left: List[int], right: List[int]) -> bool:
        """Return whether the stacks hold the same values slot by slot; share nothing.

        Only a shortcut for lifetimes: elements once compared are not compared again while containers only grow.
        """
        if len(left) != len(right):
            return False
        a, b = pair.a, pair.b
        if pair.equal_at != (a.rewrites, b.rewrites):
            pair.equal, pair.partners, pair.equal_at = {}, {}, (a.rewrites, b.rewrites)
        work = [(x, y) for x, y in zip(left, right) if x != y]
        nested = False
        while work:
            for x, y in work:
                if x >= 0 or y >= 0 or a.heap[x].kind != b.heap[y].kind:
                    return False
                a.heap[x].nested = b.heap[y].nested = nested or a.heap[x].nested or b.heap[y].nested
            work = self._grown(pair, work)
            if work and work[0] == (0, 1):
                return False
            nested = True
        return True

    def _grown(self, pair: Pair, work: List[Tuple[int, int]]) -> List[Tuple[int, int]]:
        """Return the pairs of parts still to compare, or [(0, 1)] if the containers differ."""
        parts: List[Tuple[int, int]] = []
        for x, y in work:
            left, right = pair.a.heap[x], pair.b.heap[y]
            if left.forward or right.forward or len(left.items) != len(right.items):
                return [(0, 1)]
            start = pair.equal.get((x, y), 0)
            if left.keys is not None and right.keys is not None and left.keys[start:] != right.keys[start:]:
                return [(0, 1)]
            if pair.partners.setdefault(x, y) != y or pair.partners.setdefault(y, x) != x:
                return [(0, 1)]
            pair.equal[x, y] = len(left.items)
            parts += [(i, j) for i, j in zip(left.items[start:], right.items[start:]) if i != j]
        return parts

    def held(self, side: Side, values: Iterable[int], through_lists: bool = True) -> Dict[int, None]:
        """Return the objects that these values keep alive (see the function `held`)."""
        return held(self.terms, side, values, through_lists)

    def held_by_one(self, a: Side, b: Side, values_a: Set[int], values_b: Set[int]) -> Tuple[List[int], List[int]]:
        """Return the objects that only A's values keep alive, and those that only B's do.

        Terms that both have are skipped, tuples excepted: with hundreds of values on the stack, walking them all
        would be most of the work.
        """
        own_a, own_b = values_a - values_b, values_b - values_a
        if a.heap or b.heap:  # references are each machine's own, so equal ones are not equal containers
            own_a.update([value for value in values_a if value < 0])
            own_b.update([value for value in values_b if value < 0])
        held_a, held_b = self.held(a, own_a), self.held(b, own_b)
        only_a = [value for value in held_a if value not in held_b and value not in values_b]
        only_b = [value for value in held_b if value not in held_a and value not in values_a]
        if only_a or only_b:
            packed = values_b.intersection(values_a.intersection(self.terms.depths))
            if packed:
                inside = self.held(a, packed)
                only_a = [value for value in only_a if value not in inside]
                only_b = [value for value in only_b if value not in inside]
        return only_a, only_b

    def holds_no_more(self, pair: Pair, pops_a: int, pops_b: int) -> bool:
        """Return whether A holds each value that B holds beside the operands and the user's locals.

        False where there are containers. While A only gets more values, only those that B got meanwhile are searched
        for: a long frame has hundreds of values on the stack at each of its events.
        """
        a, b = pair.a, pair.b
        kept, gained = pair.kept, b.gained
        if gained:
            b.gained = []
        pair.kept = None
        if a.heap or b.heap:
            return False
        rest_a, rest_b = a.stack[: len(a.stack) - pops_a], b.stack[: len(b.stack) - pops_b]
        names_a = a.temps.values()
        is_longer = kept is not None and not a.lost_names and rest_a[: len(kept)] == kept
        if is_longer and len(gained) + len(rest_b) <= _FEW:
            latest = rest_a[-_FEW:]
            found = True
            for value in gained + rest_b if rest_b else gained:
                if value not in latest and value not in names_a and value not in rest_a:
                    found = False
        else:
            values_a = {*rest_a, *names_a}
            found = values_a.issuperset(rest_b) and values_a.issuperset(b.temps.values())
        if found:
            pair.kept, a.lost_names = rest_a, False
        return found

    def kept_too_long(
        self, pair: Pair, rest_a: List[int], rest_b: List[int], operands: Iterable[int], used: Dict[int, None] | None
    ) -> int:
        """Return a value that B still holds at an event when A does not, or 0; record what has to be assumed.

        `rest_*` is the stack without the operands; `used` is what the operands hold, if already computed. The
        user's locals agree, so they count for both.
        """
        a, b = pair.a, pair.b
        values_a = {*rest_a, *a.temps.values()}
        early, late = self.held_by_one(a, b, values_a, {*rest_b, *b.temps.values()})
        kinds = self.terms.kinds
        early = [value for value in early if not kinds[value] & GLOBAL]
        if not late and (not early or Assumption.TEMPORARIES in self.assumed):
            return 0
        if used is None:
            used = self.held(a, operands, through_lists=False)
        users = self.held(a, a.locals.values())
        for value in late:
            if value in users:
                continue
            if value in used or value in pair.excused:
                self.assumed.add(Assumption.TEMPORARIES)
            else:
                return value
        if any(value not in users for value in early):
            self.assumed.add(Assumption.TEMPORARIES)
        return 0


def held(terms: Terms, side: Side, values: Iterable[int], through_lists: bool = True) -> Dict[int, None]:
    """Return the objects that these values keep alive, through fresh containers and tuples.

    Without `through_lists`, leave out what only a list, dict or set keeps alive: whoever receives it may empty it.
    """
    leaves: Dict[int, None] = {}
    seen: Set[int] = set()
    work = list(values)
    while work:
        value = side.resolve(work.pop())
        if value >= 0:
            terms.leaves(value, leaves)
        elif value not in seen:
            seen.add(value)
            if through_lists or side.heap[value].kind == "tuple":
                work.extend(side.heap[value].items)
    return leaves


def excuse(terms: Terms, pair: Pair) -> None:
    """Excuse, after an exception, the values that A lost with its stack and that names of B still hold."""
    a, b = pair.a, pair.b
    kept = held(terms, a, [*a.stack, *a.temps.values(), *a.locals.values()])
    late = [value for value in held(terms, b, [*b.stack, *b.temps.values()]) if value not in kept]
    if late:
        pair.excused = pair.excused.union(late)


def excuse_lost(terms: Terms, pair: Pair, lost: List[int]) -> None:
    """Excuse the `lost` part of A's stack when A reraises; B is at another place, so nothing else is excused."""
    a, b = pair.a, pair.b
    late = held(terms, a, lost)
    if late:
        kept = held(terms, a, [*a.stack, *a.temps.values(), *a.locals.values()])
        theirs = held(terms, b, [*b.stack, *b.temps.values()])
        pair.excused = pair.excused.union([value for value in late if value in theirs and value not in kept])
