"""The pattern of one `case`, found by running its ops on symbols.

The compiler turns a pattern into tests that leave for the next case when they fail. Running only the way on which
every test succeeds, with the subject and its parts as symbols, collects what was tested: that is the pattern.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from depyf.decompiler.bytecode.microops import STORES, Op

HIDDEN = -2  # a star whose value is not taken: `[a, *_]`


class NoPattern(Exception):
    """These ops are not what the compiler makes of a pattern."""


class Place:
    """The subject or one of its parts, with what the pattern requires of it."""

    __slots__ = ("kind", "value", "parts", "extra", "names", "star")

    def __init__(self) -> None:
        self.kind = ""  # "": anything; "value", "singleton", "sequence", "mapping", "class", "or"
        # Ops of the value, of the class, of the keys; the singleton; of a sequence whose length is tested, between
        # which positions its star may be.
        self.value: Any = None
        self.parts: List[Place] = []
        self.extra: Any = None  # class: the names of the keyword parts; mapping: the store of the rest
        self.names: List[Op] = []  # stores that bind it
        self.star = -1  # sequence: which of the parts is starred, or HIDDEN

    def become(self, kind: str, value: Any = None) -> None:
        """Note a test of this place; it can have one only."""
        if self.kind:
            raise NoPattern("two tests of one place")
        self.kind, self.value = kind, value


class Computed:
    """A value that the pattern's own ops compute: a constant, a name, an attribute, a tuple of such."""

    __slots__ = ("ops",)

    def __init__(self, ops: List[Op]) -> None:
        self.ops = ops


class Taken:
    """What MATCH_CLASS or MATCH_KEYS gave for a place, or a length, an index, a rest, or the outcome of a test."""

    __slots__ = ("what", "place", "value")

    def __init__(self, what: str, place: Optional[Place], value: Any = None) -> None:
        self.what = what  # "attributes", "values", "length", "index", "rest", "test", "key"
        self.place = place
        self.value = value


class Alternatives:
    """One capture of an or-pattern: the place that it is in each alternative."""

    __slots__ = ("places",)

    def __init__(self, places: List[Any]) -> None:
        self.places = places


Stack = List[Any]


def constant_of(entry: Any) -> Any:
    """Return the constant that the pattern pushed."""
    if isinstance(entry, Computed) and len(entry.ops) == 1 and entry.ops[0].kind == "CONST":
        return entry.ops[0].arg
    raise NoPattern("a constant was expected")


def _keys_of(entry: Any) -> Tuple[Any, ...]:
    keys = constant_of(entry)
    if not isinstance(keys, tuple):
        raise NoPattern("a tuple of keys was expected")
    return keys


MOST_PARTS = 1000  # of one pattern


def _count(value: Any) -> int:
    """Return a number of parts, from an argument or a constant that may be anything."""
    if type(value) is not int or not 0 <= value <= MOST_PARTS:
        raise NoPattern("a number of parts was expected")
    return value


def place_of(entry: Any) -> Place:
    """Return the place on the stack."""
    if not isinstance(entry, Place):
        raise NoPattern("a part of the subject was expected")
    return entry


LOADS = frozenset({"LOAD_LOCAL", "LOAD_CELL", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASS_CELL", "CONST"})


def execute(op: Op, stack: Stack) -> None:
    """Run one op of a pattern on the symbols."""
    kind = op.kind
    if kind in LOADS:
        stack.append(Computed([op]))
    elif kind in STORES:
        _store(op, stack.pop())
    elif kind == "COPY":
        stack.append(stack[-op.arg])
    elif kind == "SWAP":
        stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
    elif kind == "POP":
        stack.pop()
    elif kind in _ACTIONS:
        _ACTIONS[kind](op, stack)
    else:
        raise NoPattern(f"{kind} in a pattern")


def _store(op: Op, entry: Any) -> None:
    """Bind a name to a place."""
    if isinstance(entry, Alternatives):
        for place in entry.places:
            _store(op, place)
    elif isinstance(entry, Taken) and entry.what == "rest" and entry.place is not None:
        entry.place.extra = op
    else:
        place_of(entry).names.append(op)


def _load_attr(op: Op, stack: Stack) -> None:
    entry = stack.pop()
    if not isinstance(entry, Computed):
        raise NoPattern("an attribute of the subject")
    stack.append(Computed([*entry.ops, op]))


def _build_tuple(op: Op, stack: Stack) -> None:
    entries = stack[len(stack) - op.arg :]
    del stack[len(stack) - op.arg :]
    if not all(isinstance(entry, Computed) for entry in entries):
        raise NoPattern("a tuple of parts of the subject")
    stack.append(Taken("keys", None, [entry.ops for entry in entries]))


def _match_kind(op: Op, stack: Stack) -> None:
    stack.append(Taken("test", place_of(stack[-1]), ("sequence" if op.kind == "MATCH_SEQUENCE" else "mapping", None)))


def _get_len(op: Op, stack: Stack) -> None:
    stack.append(Taken("length", place_of(stack[-1])))


def _compare(op: Op, stack: Stack) -> None:
    right, left = stack.pop(), stack.pop()
    if isinstance(left, Taken) and left.what == "length" and op.arg in ("==", ">="):
        length = _count(constant_of(right))
        stack.append(Taken("test", left.place, ("length" if op.arg == "==" else "at least", length)))
    elif isinstance(left, Place) and isinstance(right, Computed) and op.arg == "==":
        stack.append(Taken("test", left, ("value", right.ops)))
    else:
        raise NoPattern("a comparison in a pattern")


def _is(op: Op, stack: Stack) -> None:
    right, left = stack.pop(), stack.pop()
    value = constant_of(right)
    if op.arg or not any(value is known for known in (None, True, False)):
        raise NoPattern("an identity test in a pattern")
    stack.append(Taken("test", place_of(left), ("singleton", value)))


def _binary(op: Op, stack: Stack) -> None:
    right, left = stack.pop(), stack.pop()
    if op.arg != "-" or not isinstance(left, Taken) or left.what != "length":
        raise NoPattern("arithmetic in a pattern")
    stack.append(Taken("index", left.place, -_count(constant_of(right))))


def _subscr(op: Op, stack: Stack) -> None:
    key, entry = stack.pop(), stack.pop()
    if isinstance(entry, Taken) and entry.what in ("attributes", "values") and entry.place is not None:
        position = constant_of(key)  # what MATCH_CLASS or MATCH_KEYS gave is taken apart one by one: 3.10
        if type(position) is not int or not 0 <= position < len(entry.place.parts):
            raise NoPattern("a part that the subject does not have")
        stack.append(entry.place.parts[position])
        return
    place = place_of(entry)
    index = key.value if isinstance(key, Taken) and key.what == "index" else constant_of(key)
    if place.kind != "sequence" or place.star != HIDDEN or not isinstance(index, int):
        raise NoPattern("an item of something that is not a sequence with a star")
    position = index if index >= 0 else len(place.parts) + index
    first, last = place.value
    place.value = (max(first, position + 1), last) if index >= 0 else (first, min(last, position))
    stack.append(place.parts[position])


def _unpack(op: Op, stack: Stack) -> None:
    entry = stack.pop()
    if isinstance(entry, Taken) and entry.what in ("keys", "attributes", "values"):
        if entry.what == "keys":
            parts: List[Any] = [Taken("key", None) for _ in range(op.arg)]
        else:
            assert entry.place is not None
            parts = entry.place.parts
    elif isinstance(entry, Computed):
        parts = [Taken("key", None) for _ in _keys_of(entry)]
    else:
        parts = place_of(entry).parts
    if len(parts) != op.arg:
        raise NoPattern("a pattern that unpacks another number of parts")
    stack.extend(reversed(parts))


def _unpack_ex(op: Op, stack: Stack) -> None:
    place = place_of(stack.pop())
    before, after = op.arg
    if place.kind != "sequence" or place.star >= 0 or len(place.parts) != before + after:
        raise NoPattern("a star in something that is not a sequence")
    place.parts.insert(before, Place())
    place.star = before
    stack.extend(reversed(place.parts))


def _match_keys(op: Op, stack: Stack) -> None:
    keys, place = stack[-1], place_of(stack[-2])
    if isinstance(keys, Computed):
        ops = [[Op("CONST", key, keys.ops[0].offset)] for key in _keys_of(keys)]
    elif isinstance(keys, Taken) and keys.what == "keys":
        ops = keys.value
    else:
        raise NoPattern("keys of an unknown form")
    stack.append(Taken("values", place, ops))


def _match_class(op: Op, stack: Stack) -> None:
    names, cls, place = stack.pop(), stack.pop(), place_of(stack.pop())
    if not isinstance(cls, Computed):
        raise NoPattern("a class of an unknown form")
    attributes = constant_of(names)
    if not isinstance(attributes, tuple) or not all(isinstance(name, str) for name in attributes):
        raise NoPattern("a tuple of names was expected")
    stack.append(Taken("attributes", place, (cls.ops, _count(op.arg), attributes)))


def _build_map(op: Op, stack: Stack) -> None:
    if op.arg:
        raise NoPattern("a dict in a pattern")
    stack.append(Taken("rest", None))


def _dict_update(op: Op, stack: Stack) -> None:
    place = place_of(stack.pop())
    rest = stack[-op.arg]
    if not isinstance(rest, Taken) or rest.what != "rest":
        raise NoPattern("a dict that is not the rest of a mapping")
    rest.place = place


def _delete_subscr(op: Op, stack: Stack) -> None:
    key, rest = stack.pop(), stack.pop()
    if not (isinstance(key, Taken) and key.what == "key" and isinstance(rest, Taken) and rest.what == "rest"):
        raise NoPattern("an item is deleted in a pattern")


_ACTIONS = {
    "LOAD_ATTR": _load_attr, "BUILD_TUPLE": _build_tuple, "MATCH_SEQUENCE": _match_kind, "MATCH_MAPPING": _match_kind,
    "GET_LEN": _get_len, "COMPARE": _compare, "IS": _is, "BINARY": _binary, "SUBSCR": _subscr, "UNPACK": _unpack,
    "UNPACK_EX": _unpack_ex, "MATCH_KEYS": _match_keys, "MATCH_CLASS": _match_class, "BUILD_MAP": _build_map,
    "DICT_UPDATE": _dict_update, "DELETE_SUBSCR": _delete_subscr,
}  # fmt: skip


def succeed(entry: Any, is_none_test: bool) -> bool:
    """Note that a test succeeded. Returns the outcome of the branch on which it does."""
    if is_none_test:
        if isinstance(entry, Place):
            entry.become("singleton", None)
            return True
        if isinstance(entry, Taken) and entry.what in ("attributes", "values") and entry.place is not None:
            _open(entry, entry.place)
            return False
        raise NoPattern("a test for None in a pattern")
    if not isinstance(entry, Taken) or entry.what != "test" or entry.place is None:
        raise NoPattern("a branch in a pattern")
    place = entry.place
    kind, value = entry.value
    if kind == "length":
        _set_length(place, value)
        place.value = (value, value)
    elif kind == "at least" and place.kind == "sequence":
        _set_length(place, value)
        place.value = (0, value)
        place.star = HIDDEN
    elif kind == "at least":
        if place.kind != "mapping":
            raise NoPattern("a length of something that is not a sequence")
    else:
        place.become(kind, value)
    return True


def _set_length(place: Place, length: int) -> None:
    if place.kind != "sequence" or place.value is not None:
        raise NoPattern("a length of something that is not a sequence")
    place.parts = [Place() for _ in range(length)]


def _open(entry: Taken, place: Place) -> None:
    """Give a place its parts: MATCH_CLASS or MATCH_KEYS succeeded."""
    if entry.what == "attributes":
        cls, count, names = entry.value
        place.become("class", cls)
        place.extra = names
        place.parts = [Place() for _ in range(count + len(names))]
        return
    if place.kind != "mapping" or place.parts:
        raise NoPattern("keys of something that is not a mapping")
    place.value = entry.value
    place.parts = [Place() for _ in entry.value]
