"""Joins: where paths meet, check whether the stored state covers the new one; else find one that covers both.

A stored state stands for every state that results from substituting values for its symbols. `covers` searches
for such a substitution. `generalise` is anti-unification (Plotkin 1970): the same pair of old and new term
becomes the same fresh symbol, in both machines, so equalities that hold on both paths are kept and no
others.
"""

from __future__ import annotations

from typing import Dict, List, Set, Tuple

from depyf.decompiler.prove.correspondence import Correspondence
from depyf.decompiler.prove.machine_state import Container, Pair, Side
from depyf.decompiler.prove.symbolic_machine import Machine, Unsupported
from depyf.decompiler.prove.terms import (
    BOOL,
    CONST,
    GLOBAL,
    IS,
    MAYBE,
    NOT,
    NUMBER,
    SLICE,
    SYMBOL,
    TUPLE,
    UNBOUND,
    UNIQUE,
    Terms,
)

_PARTS = TUPLE | SLICE | IS | NOT


class Joins:
    """Compare and merge Pairs that are at the same two places."""

    __slots__ = ("correspondence", "machine", "terms")

    def __init__(self, machine: Machine, correspondence: Correspondence) -> None:
        self.terms: Terms = machine.terms
        self.machine = machine
        self.correspondence = correspondence

    def covers(self, old: Pair, new: Pair) -> bool:
        """Return whether `new` is `old` with values substituted for its symbols."""
        chosen: Dict[int, int] = {}
        for o, n in ((old.a, new.a), (old.b, new.b)):
            if len(o.stack) != len(n.stack):
                raise Unsupported("the stack has two depths at one place")
            if not o.reads.keys() <= n.reads.keys() or not n.locals.keys() <= o.locals.keys() | o.captured:
                return False
            if o.captured != n.captured and not (n.captured < o.captured and o.captured.isdisjoint(n.dirty)):
                return False
            if not n.temps.keys() <= o.temps.keys() or not set(n.dirty) <= set(o.dirty):
                return False
            work = [(o.exc, n.exc), *zip(o.stack, n.stack)]
            work += [(value, n.locals.get(name, UNBOUND)) for name, value in o.locals.items()]
            if o.temps:
                work += [(value, n.temps.get(name, UNBOUND)) for name, value in o.temps.items()]
            if not self._instance(old, new, o, n, work, chosen):
                return False
        for value in old.excused:
            now = chosen.get(value, value)
            if now != UNBOUND and now not in new.excused:
                return False
        return not old.facts or self._facts_hold(old, new, chosen)

    def _instance(
        self, old: Pair, new: Pair, o: Side, n: Side, work: List[Tuple[int, int]], chosen: Dict[int, int]
    ) -> bool:
        kinds, data = self.terms.kinds, self.terms.data
        forth: Dict[int, int] = {}
        back: Dict[int, int] = {}
        compared: Set[Tuple[int, int]] = set()  # tuples and slices
        for x, y in work:  # grows while it is walked
            if x < 0 or y < 0:
                if x >= 0 or y >= 0 or forth.get(x, y) != y or back.get(y, x) != x:
                    return False
                if x in forth:
                    continue
                forth[x], back[y] = y, x
                left, right = o.heap[x], n.heap[y]
                if not _same_shape(left, right):
                    return False
                work.extend(zip(left.items, right.items))
                continue
            kind = kinds[x]
            if kind & SYMBOL:
                if chosen.setdefault(x, y) != y or (x != y and not self._may_stand_for(old, new, x, y)):
                    return False
                if x == y and kind & MAYBE and -x in old.facts and -x not in new.facts:
                    return False
            elif kind & _PARTS:
                if (x, y) in compared:
                    continue
                compared.add((x, y))
                if kind & UNIQUE and chosen.setdefault(x, y) != y:
                    return False
                if kind & NOT and kinds[y] & BOOL:
                    work.append((data[x], self.terms.negated(y)))
                elif kinds[y] & _PARTS != kind & _PARTS or len(data[x]) != len(data[y]):
                    return False
                else:
                    work.extend(zip(data[x], data[y]))
            elif x != y:
                return False
        return True

    def _may_stand_for(self, old: Pair, new: Pair, x: int, y: int) -> bool:
        """Return whether `y` of `new` has every property that the symbol `x` of `old` promises."""
        kinds = self.terms.kinds
        if self.may_be_unbound(new, y) and not self.may_be_unbound(old, x):
            return False
        if kinds[x] & NUMBER and not self.terms.is_number(y):
            return False
        promised = kinds[x] & (BOOL | GLOBAL)
        return kinds[y] & promised == promised

    def may_be_unbound(self, pair: Pair, term: int) -> bool:
        """Return whether reading a name with this content may raise."""
        return term == UNBOUND or bool(self.terms.kinds[term] & MAYBE and -term not in pair.facts)

    def _facts_hold(self, old: Pair, new: Pair, chosen: Dict[int, int]) -> bool:
        for fact, outcome in old.facts.items():
            if fact < 0:
                continue  # whether a name is bound was checked together with its value
            term = self._translated(fact, chosen)
            if term is not None and self.machine.decide(new, term) is not outcome:
                return False
        return True

    def _translated(self, fact: int, chosen: Dict[int, int]) -> int | None:
        """Return the term in the new state that an old fact is about, or None if nothing refers to it any more."""
        terms = self.terms
        if terms.kinds[fact] & SYMBOL:
            return chosen.get(fact)
        if not terms.kinds[fact] & IS:
            return fact
        if any(not terms.kinds[part] & (CONST | SYMBOL | UNIQUE) for part in terms.data[fact]):
            return fact
        parts = [part if terms.kinds[part] & CONST else chosen.get(part) for part in terms.data[fact]]
        if parts[0] is None or parts[1] is None:
            return None
        if (parts[0], parts[1]) == terms.data[fact]:
            return fact
        if parts[0] == parts[1]:
            return terms.true
        return terms.identity(parts[0], parts[1])

    def prune(self, pair: Pair) -> None:
        """Drop facts that nothing in the state refers to."""
        if not pair.facts:
            return
        values: Set[int] = set()
        for side in (pair.a, pair.b):
            values.update(side.stack, side.locals.values(), side.temps.values())
        kept = {}
        for fact, outcome in pair.facts.items():
            if fact < 0:
                wanted = -fact in values
            else:
                data = self.terms.data[fact]
                wanted = fact in values or bool(self.terms.kinds[fact] & IS and not values.isdisjoint(data))
            if wanted:
                kept[fact] = outcome
        pair.facts = kept

    def generalise(self, old: Pair, new: Pair) -> Pair:
        """Return the most specific state, of those that anti-unification finds, that covers both."""
        self._share_reshaped(old, new)
        merge = _Merge(self, old, new)
        pair = Pair(merge.side(0, old.a, new.a), merge.side(1, old.b, new.b))
        pair.excused = (old.excused & new.excused).union(
            [
                merged
                for (x, y), merged in merge.shared.items()
                if (x == UNBOUND or x in old.excused) and (y == UNBOUND or y in new.excused)
            ]
        )
        pair.facts = {fact: known for fact, known in old.facts.items() if new.facts.get(fact) is known}
        if pair.a.captured != pair.b.captured:
            raise Unsupported("cells captured on one path only")
        for name in pair.a.captured:
            if name in pair.a.dirty or name in pair.b.dirty:
                raise Unsupported("a cell captured and changed where paths meet")
            pair.a.locals.pop(name, None)
            pair.b.locals.pop(name, None)
        return pair

    def _share_reshaped(self, old: Pair, new: Pair) -> None:
        """Share containers whose shape differs between the two paths, where both machines have them."""
        if not (old.a.heap or old.b.heap or new.a.heap or new.b.heap):
            return
        for pair in (old, new):
            pair.a.settle()
            pair.b.settle()
        candidates = _reshaped(old.b, new.b)
        for x_old, x_new in _reshaped(old.a, new.a):
            for y_old, y_new in candidates:
                before, after = [(x_old, y_old)], [(x_new, y_new)]
                escape = self.correspondence.escape
                if escape(old.a, old.b, before, commit=False) and escape(new.a, new.b, after, commit=False):
                    escape(old.a, old.b, before)
                    escape(new.a, new.b, after)
                    break
        for pair in (old, new):
            pair.a.settle()
            pair.b.settle()


def _same_shape(left: Container, right: Container) -> bool:
    return left.kind == right.kind and len(left.items) == len(right.items) and left.keys == right.keys


def _slots(o: Side, n: Side) -> List[Tuple[int, int]]:
    slots = list(zip(o.stack, n.stack))
    for before, after in ((o.locals, n.locals), (o.temps, n.temps)):
        slots += [(before.get(name, UNBOUND), after.get(name, UNBOUND)) for name in before.keys() | after.keys()]
    return slots


def _reshaped(o: Side, n: Side) -> List[Tuple[int, int]]:
    """Return the slots, also inside containers, whose container on one path has no match on the other."""
    found: Dict[Tuple[int, int], None] = {}
    seen = set()
    work = _slots(o, n)
    while work:
        x, y = work.pop()
        if (x >= 0 and y >= 0) or (x, y) in seen:
            continue
        seen.add((x, y))
        if x < 0 and y < 0 and _same_shape(o.heap[x], n.heap[y]):
            work.extend(zip(o.heap[x].items, n.heap[y].items))
        else:
            found[x, y] = None
    return list(found)


class _Merge:
    """One anti-unification of two Pairs."""

    def __init__(self, joins: Joins, old: Pair, new: Pair) -> None:
        self.joins = joins
        self.terms = joins.terms
        self.old = old
        self.new = new
        self.shared: Dict[Tuple[int, int], int] = {}

    def side(self, which: int, o: Side, n: Side) -> Side:
        """Return the merged machine."""
        merged = Side()
        merged.pc = o.pc
        merged.exc = self.term(o.exc, n.exc)
        references = _References(self, o, n, merged)
        merged.stack = [references.value(x, y) for x, y in zip(o.stack, n.stack)]
        for into, before, after in ((merged.locals, o.locals, n.locals), (merged.temps, o.temps, n.temps)):
            for name in [*before, *[name for name in after if name not in before]]:
                into[name] = references.value(before.get(name, UNBOUND), after.get(name, UNBOUND))
        references.fill()
        merged.captured = o.captured | n.captured
        merged.reads = {name: None for name in o.reads if name in n.reads}
        merged.dirty = [*o.dirty, *[name for name in n.dirty if name not in o.dirty]]
        merged.touched = True
        return merged

    def term(self, x: int, y: int) -> int:
        """Return the term that covers both; the depth of terms is bounded, so this may recurse."""
        if x == y:
            return x
        known = self.shared.get((x, y))
        if known is not None:
            return known
        kinds, data = self.terms.kinds, self.terms.data
        if kinds[x] & kinds[y] & TUPLE and len(data[x]) == len(data[y]):
            make = self.terms.unique_tuple if (kinds[x] | kinds[y]) & UNIQUE else self.terms.tuple_of
            merged = make(tuple([self.term(i, j) for i, j in zip(data[x], data[y])]))
        elif kinds[x] & NOT and kinds[y] & BOOL:
            merged = self.terms.negated(self.term(data[x], self.terms.negated(y)))
        elif kinds[x] & kinds[y] & IS and self.terms.none in data[x] and self.terms.none in data[y]:
            # `v is None` stays a test of v: the other code may have v itself at hand, and test it at its branch.
            tested = [next(part for part in data[one] if part != self.terms.none) for one in (x, y)]
            merged = self.terms.identity(self.term(*tested), self.terms.none)
        else:
            properties = kinds[x] & kinds[y] & (BOOL | GLOBAL)
            if self.terms.is_number(x) and self.terms.is_number(y):
                properties |= NUMBER
            joins = self.joins
            if joins.may_be_unbound(self.old, x) or joins.may_be_unbound(self.new, y):
                properties |= MAYBE
            merged = self.terms.symbol(properties)
        self.shared[x, y] = merged
        return merged


class _References:
    """Merge the fresh containers of one machine; what cannot be merged becomes a symbol of its own.

    Such a symbol equals nothing in the other machine, so nothing that uses it can be proved.
    """

    def __init__(self, merge: _Merge, o: Side, n: Side, into: Side) -> None:
        self.merge = merge
        self.o, self.n, self.into = o, n, into
        self.forth: Dict[int, int] = {}
        self.back: Dict[int, int] = {}
        self.known: Dict[Tuple[int, int], int] = {}
        self.waiting: List[Tuple[int, Container, Container]] = []

    def value(self, x: int, y: int) -> int:
        """Return the value that covers the two values of a slot."""
        if x >= 0 and y >= 0:
            return self.merge.term(x, y)
        known = self.known.get((x, y))
        if known is None:
            known = self.known[x, y] = self._reference(x, y)
        return known

    def _reference(self, x: int, y: int) -> int:
        fits = x < 0 and y < 0 and _same_shape(self.o.heap[x], self.n.heap[y])
        if not fits or self.forth.setdefault(x, y) != y or self.back.setdefault(y, x) != x:
            merge = self.merge
            unbound = (x >= 0 and merge.joins.may_be_unbound(merge.old, x)) or (
                y >= 0 and merge.joins.may_be_unbound(merge.new, y)
            )
            return merge.terms.symbol(MAYBE if unbound else 0, "a container with two shapes")
        reference = next(self.merge.joins.machine.containers.numbers)
        self.waiting.append((reference, self.o.heap[x], self.n.heap[y]))
        return reference

    def fill(self) -> None:
        """Merge the contents of the containers found so far and of those inside them."""
        while self.waiting:
            reference, left, right = self.waiting.pop()
            items = [self.value(x, y) for x, y in zip(left.items, right.items)]
            self.into.heap[reference] = Container(left.kind, items, None if left.keys is None else left.keys[:])
