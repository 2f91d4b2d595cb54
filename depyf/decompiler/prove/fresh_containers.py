"""Fresh containers: silent operations on lists, dicts and sets made in this frame that have not escaped.

Every function either does what the interpreter would do, with no effect beyond the container, or returns
None or False; then the operation is an event and the container escapes.
"""

from __future__ import annotations

from itertools import count
from typing import Dict, Iterator, List, Tuple

from depyf.decompiler.prove.machine_state import DICT, LIST, PACK, SET, Container, Side
from depyf.decompiler.prove.terms import CONST, SINGLETON, SLICE, TUPLE, Terms

# Exact types of keys. True and 1.0, which equal 1, are not plain, so equal keys are equal terms.
_PLAIN_KEYS = (str, int, bytes, type(None))
_INDEX_LIMIT = 1 << 30


class Containers:
    """Make and change fresh containers of either machine."""

    __slots__ = ("by_value", "numbers", "terms")

    def __init__(self, terms: Terms, by_value: bool) -> None:
        self.terms = terms
        self.by_value = by_value  # whether equal tuples are one
        self.numbers: Iterator[int] = count(-1, -1)

    def make(self, side: Side, kind: str, items: List[int], keys: List[int] | None = None) -> int:
        """Return a reference to a new container."""
        reference = next(self.numbers)
        side.heap[reference] = Container(kind, items, keys)
        return reference

    def make_tuple(self, side: Side, items: List[int]) -> int:
        """Return a term of constants, a reference to a tuple of other values, 0 if nested too deeply.

        If equal tuples are one, return a term for all that hold terms only.
        """
        if min(items, default=0) < 0:
            items = [side.resolve(item) for item in items]
            if min(items) < 0:
                return self.make(side, PACK, items)
        whole = tuple(items)
        if not self.by_value and any(not self.terms.kinds[item] & CONST for item in whole):
            return self.make(side, PACK, items)
        return 0 if self.terms.too_deep(whole) else self.terms.tuple_of(whole)

    def elements(self, side: Side, value: int) -> List[int] | None:
        """Return the elements of a fresh list or of a tuple, or None for any other value."""
        value = side.resolve(value)
        if value < 0:
            container = side.heap[value]
            return container.items if container.kind in (LIST, PACK) else None
        return list(self.terms.data[value]) if self.terms.kinds[value] & TUPLE else None

    def tuple_parts(self, side: Side, value: int) -> List[int] | None:
        """Return the elements of a tuple, or None for any other value."""
        value = side.resolve(value)
        is_tuple = side.heap[value].kind == PACK if value < 0 else self.terms.kinds[value] & TUPLE
        return list(self.elements(side, value) or ()) if is_tuple else None

    def container(self, side: Side, value: int, kind: str) -> Container | None:
        """Return the fresh container of that kind that `value` refers to, or None."""
        value = side.resolve(value)
        if value >= 0:
            return None
        found = side.heap[value]
        return found if found.kind == kind else None

    def length(self, side: Side, value: int) -> int | None:
        """Return the number of elements of a fresh list or dict, or of a tuple, or None."""
        value = side.resolve(value)
        if value < 0:
            container = side.heap[value]
            return None if container.kind == SET else len(container.items)
        return len(self.terms.data[value]) if self.terms.kinds[value] & TUPLE else None

    def plain_key(self, term: int) -> bool:
        """Return whether `term` is a constant of a type in _PLAIN_KEYS: hashing it has no effect."""
        if term <= 0:
            return False
        kind = self.terms.kinds[term]
        if not kind & CONST or (kind & SINGLETON and term != self.terms.none):
            return False
        return type(self.terms.data[term]) in _PLAIN_KEYS

    def _index(self, term: int, size: int) -> int | None:
        """Return `term` as an index into `size` elements, or None unless it is constant and in range."""
        if term <= 0 or not self.terms.kinds[term] & CONST:
            return None
        value = self.terms.data[term]
        if type(value) is not int or self.terms.kinds[term] & SINGLETON or not -size <= value < size:
            return None
        return value

    def _slice(self, term: int) -> slice | None:
        if term <= 0 or not self.terms.kinds[term] & SLICE:
            return None
        found = self.terms.slice_value(term)
        return found if isinstance(found, slice) and found.step is None and _small(found) else None

    def get_item(self, side: Side, value: int, key: int) -> int | None:
        """Return `value[key]`, or None if that is an event."""
        known = self.elements(side, value)
        if known is not None:
            index = self._index(key, len(known))
            if index is not None:
                return side.resolve(known[index])
            part = self._slice(key)
            if part is None:
                return None
            if self.container(side, value, LIST) is not None:
                return self.make(side, LIST, known[part])
            return self.make_tuple(side, known[part]) or None
        mapping = self.container(side, value, DICT)
        if mapping is not None and mapping.keys is not None and key in mapping.keys:
            return side.resolve(mapping.items[mapping.keys.index(key)])
        return None

    def set_item(self, side: Side, target: int, key: int, value: int) -> bool:
        """Do `target[key] = value`; return False if that is an event."""
        listed = self.container(side, target, LIST)
        if listed is not None:
            index = self._index(key, len(listed.items))
            if index is not None:
                listed.items[index] = value
                return True
            part = self._slice(key)
            new = self.elements(side, value)
            if part is None or new is None:
                return False
            listed.items[part] = new[:]
            return True
        mapping = self.container(side, target, DICT)
        return mapping is not None and self.plain_key(key) and _put(mapping, key, value)

    def delete_item(self, side: Side, target: int, key: int) -> bool:
        """Do `del target[key]`; return False if that is an event."""
        listed = self.container(side, target, LIST)
        if listed is not None:
            index = self._index(key, len(listed.items))
            if index is not None:
                del listed.items[index]
                return True
            part = self._slice(key)
            if part is not None:
                del listed.items[part]
                return True
            return False
        mapping = self.container(side, target, DICT)
        if mapping is None or mapping.keys is None or key not in mapping.keys:
            return False
        index = mapping.keys.index(key)
        del mapping.keys[index], mapping.items[index]
        mapping.where = None
        return True

    def make_dict(self, side: Side, keys: List[int], values: List[int]) -> int | None:
        """Return a reference to a dict display, or None unless its keys are plain constants."""
        if not all(map(self.plain_key, keys)):
            return None
        mapping = Container(DICT, [], [])
        for key, value in zip(keys, values):
            _put(mapping, key, value)
        return self.make(side, DICT, mapping.items, mapping.keys)

    def update_dict(self, side: Side, target: int, source: int, merge: bool) -> bool:
        """Do `target.update(source)` on fresh dicts; return False if that is an event.

        A merge (of keyword arguments) with a key in both raises, so it is an event. So is an update that replaces
        values in another order than the target has them: they die in that order.
        """
        mapping, other = self.container(side, target, DICT), self.container(side, source, DICT)
        if mapping is None or other is None or mapping.keys is None or other.keys is None:
            return False
        where = _places(mapping)
        replaced = [where[key] for key in other.keys if key in where]
        if replaced and (merge or replaced != sorted(replaced)):
            return False
        for key, value in zip(other.keys[:], other.items[:]):
            _put(mapping, key, value)
        return True

    def call_keywords(self, side: Side, value: int) -> Tuple[Tuple[str, ...], List[int]] | None:
        """Return names and values of a fresh dict passed as keyword arguments, or None."""
        mapping = self.container(side, value, DICT)
        if mapping is None or mapping.keys is None:
            return None
        names = [self.terms.data[key] for key in mapping.keys]
        if not all(type(name) is str for name in names):
            return None
        return tuple(names), mapping.items[:]

    def membership(self, side: Side, value: int) -> int:
        """Return the right operand of `in`; of a fresh container only its elements matter, so they make a term."""
        value = side.resolve(value)
        if value >= 0:
            constant = self.terms.data[value]
            if self.terms.kinds[value] & CONST and type(constant) is frozenset:
                return self._elements_of_set([self.terms.const(item) for item in constant])
            return value
        container = side.heap[value]
        items = [side.resolve(item) for item in container.items]
        if container.kind == SET:
            flat: List[int] = []
            for item in items:
                constant = self.terms.data[item]
                flat += [self.terms.const(part) for part in constant] if type(constant) is frozenset else [item]
            return self._elements_of_set(flat)
        if container.kind in (LIST, PACK) and min(items, default=0) >= 0 and not self.terms.too_deep(tuple(items)):
            return self.terms.tuple_of(tuple(items))
        return value

    def _elements_of_set(self, items: List[int]) -> int:
        """Return the term of the elements, sorted; in their own order if two have one hash: both are compared then."""
        values = [self.terms.data[item] for item in dict.fromkeys(items)]
        if len({hash(value) for value in values}) < len(values):
            return self.terms.elements_of_set(tuple(items))
        return self.terms.elements_of_set(tuple(sorted(set(items))))


def _put(mapping: Container, key: int, value: int) -> bool:
    assert mapping.keys is not None
    where = _places(mapping)
    index = where.setdefault(key, len(mapping.keys))
    if index < len(mapping.keys):
        mapping.items[index] = value
    else:
        mapping.keys.append(key)
        mapping.items.append(value)
    return True


def _places(mapping: Container) -> Dict[int, int]:
    """Return the position of each key of a fresh dict."""
    if mapping.where is None:
        mapping.where = {known: index for index, known in enumerate(mapping.keys or ())}
    return mapping.where


def _small(part: slice) -> bool:
    """Return whether the bounds are small enough to slice by."""
    return all(bound is None or abs(bound) < _INDEX_LIMIT for bound in (part.start, part.stop))
