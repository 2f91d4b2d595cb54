"""Terms: the value numbers that the two machines compute with.

A term is a positive int into one table that both machines share, so equal terms are equal values and
comparing is comparing ints. UNBOUND (0) is the content of an unbound name. Negative ints are not terms
but references to fresh containers, which belong to one machine (see machine_state.py).

A symbol stands for one unknown object, identity included. A constant stands for its type and bits. Constant
tuples and slices are terms by structure, not identity: the identity of such a term (`is`) is never decided (see
symbolic_machine.py). A tuple that the frame makes of other values has an identity, unless tuples are compared by
value (`Assumption.TUPLES_BY_VALUE`).
"""

from __future__ import annotations

import struct
from types import CodeType
from typing import Any, Dict, Hashable, List, Tuple

from depyf.decompiler.bytecode.code_objects import CODE_TYPES

UNBOUND = 0

# Kinds and properties of terms, as bits.
SYMBOL, CONST, TUPLE, SLICE, IS, NOT = 1, 2, 4, 8, 16, 32
BOOL = 64  # True or False, though perhaps unknown which
MAYBE = 128  # a symbol that may stand for "unbound"
GLOBAL = 256  # a symbol that was read from the globals or from a shared cell
SINGLETON = 512  # a constant compared by identity, or one of which there is only one
INSTALLED = 1024  # a global that is assumed to be constant
CODE = 2048
NUMBER = 8192  # an int or bool constant (or unbound): holding it keeps nothing alive
UNIQUE = 16384  # a tuple with an identity: made by one operation of the frame
ONE = 4096  # a constant of which the two codes, as far as read, hold only one object

# Deeper tuples are made opaque, so that walking a term may recurse.
DEEPEST = 40

_BY_VALUE = frozenset({str, int, bytes})


class Terms:
    """The table of terms of one proof."""

    __slots__ = (
        "assertion_error",
        "data",
        "depths",
        "false",
        "join",
        "kinds",
        "known",
        "lasti",
        "line",
        "none",
        "null",
        "outer",
        "true",
    )

    def __init__(self) -> None:
        self.kinds: List[int] = [0]
        self.data: List[Any] = [None]  # origin of a symbol, value of a constant, parts of a composite
        self.known: Dict[Hashable, int] = {}
        self.depths: Dict[int, int] = {}  # tuple or slice -> how deeply it is nested
        self.none = self.const(None)
        self.true = self.const(True)
        self.false = self.const(False)
        self.null = self._shared("NULL", CONST | SINGLETON | ONE, "NULL")
        self.line = self._shared("line", CONST | SINGLETON | ONE, "a line of the text")
        self.lasti = self._shared("lasti", CONST | SINGLETON | ONE, "lasti")
        self.outer = self._shared("outer", CONST | SINGLETON | ONE, "what the caller handles")
        self.join = self._shared("join", CONST | SINGLETON | ONE, "".join)
        self.assertion_error = self._shared("AssertionError", CONST | SINGLETON | ONE, AssertionError)

    def symbol(self, properties: int = 0, origin: Any = None) -> int:
        """Return a new unknown value."""
        self.kinds.append(SYMBOL | properties)
        self.data.append(origin)
        return len(self.kinds) - 1

    def _shared(self, key: Hashable, kind: int, data: Any) -> int:
        term = self.known.get(key)
        if term is None:
            term = self.known[key] = len(self.kinds)
            self.kinds.append(kind)
            self.data.append(data)
        return term

    def const(self, value: Any) -> int:
        """Return the term of a constant: by type and bits, other objects by identity."""
        cls = type(value)
        if cls in _BY_VALUE:
            term = self._shared((cls, value), CONST | ONE, value)
            if self.data[term] is not value:
                self.kinds[term] &= ~ONE
            return term
        if cls is bool:
            return self._shared((cls, value), CONST | BOOL | SINGLETON | ONE, value)
        if cls is tuple and _nesting(value) < DEEPEST:
            return self.tuple_of(tuple([self.const(item) for item in value]))
        if cls is float:
            return self._shared((cls, struct.pack("<d", value)), CONST, value)
        if cls is complex:
            return self._shared((cls, struct.pack("<dd", value.real, value.imag)), CONST, value)
        if cls is frozenset:
            # In iteration order, which a program can observe.
            return self._shared((cls, tuple([self.const(item) for item in value])), CONST, value)
        if cls is slice:
            return self.slice_of(tuple([self.const(bound) for bound in (value.start, value.stop, value.step)]))
        if isinstance(value, CODE_TYPES):
            return self._shared((CodeType, id(value)), CONST | CODE, value)
        return self._shared(("object", id(value)), CONST | SINGLETON | ONE, value)

    def tuple_of(self, items: Tuple[int, ...]) -> int:
        """Return the term of a tuple of terms (no references)."""
        known = self.known.get(items)
        if known is not None:
            return known
        depths = self.depths
        term = self._shared(items, TUPLE, items)
        depths[term] = 1 + max([depths.get(item, 0) for item in items], default=0)
        return term

    def unique_tuple(self, items: Tuple[int, ...]) -> int:
        """Return the term of a tuple object that one operation made; another of the same items is another term."""
        term = self.symbol(0, items)
        self.kinds[term] = TUPLE | UNIQUE
        self.depths[term] = 1 + max([self.depths.get(item, 0) for item in items], default=0)
        return term

    def too_deep(self, items: Tuple[int, ...]) -> bool:
        """Return whether a tuple of these would be nested too deeply to be a term."""
        depths = self.depths
        return any(depths.get(item, 0) >= DEEPEST for item in items)

    def slice_of(self, parts: Tuple[int, ...]) -> int:
        """Return the term of a slice of two or three terms; `a:b` and `a:b:None` are one."""
        if len(parts) == 2:
            parts += (self.none,)
        term = self._shared(("slice", parts), SLICE, parts)
        self.depths[term] = 1 + max([self.depths.get(part, 0) for part in parts])
        return term

    def elements_of_set(self, items: Tuple[int, ...]) -> int:
        """Return the term of a set display after `in`: its constant elements, in no order."""
        return self._shared(("elements", items), CONST | SINGLETON | ONE, "a set of constants")

    def identity(self, x: int, y: int) -> int:
        """Return the term `x is y`, a bool."""
        return self._shared(("is", x, y) if x < y else ("is", y, x), IS | BOOL, (x, y) if x < y else (y, x))

    def negated(self, term: int) -> int:
        """Return the term `not term` of a bool."""
        if self.kinds[term] & NOT:
            return int(self.data[term])
        if term == self.true:
            return self.false
        if term == self.false:
            return self.true
        return self._shared(("not", term), NOT | BOOL, term)

    def installed(self, name: str) -> int:
        """Return the term of a global that is assumed to keep its value while the frame runs."""
        return self._shared(("installed", name), CONST | INSTALLED | SINGLETON | ONE, name)

    def cell(self, name: str) -> int:
        """Return the term of a variable's cell, not of its content."""
        return self._shared(("cell", name), CONST | SINGLETON | ONE, f"cell of {name}")

    def slice_value(self, term: int) -> Any:
        """Return the slice of a term made of constant ints and Nones, or None for any other term."""
        parts = []
        for part in self.data[term]:
            value = self.data[part]
            if not self.kinds[part] & CONST or not (value is None or type(value) is int):
                return None
            parts.append(value)
        return slice(*parts)

    def is_number(self, term: int) -> bool:
        """Return whether a term is an int or bool constant, a symbol for one, or unbound."""
        kind = self.kinds[term]
        return term == UNBOUND or bool(kind & NUMBER) or (bool(kind & CONST) and type(self.data[term]) in (int, bool))

    def leaves(self, term: int, into: Dict[int, None]) -> None:
        """Collect the symbols that `term` keeps alive."""
        work = [term]
        seen = set()
        for value in work:  # grows while it is walked
            kind = self.kinds[value]
            if kind & SYMBOL:
                if not kind & (BOOL | NUMBER):
                    into[value] = None
            elif kind & (TUPLE | SLICE) and value not in seen:
                seen.add(value)
                work += self.data[value]

    def text(self, term: int, levels: int = 4) -> str:
        """Return a term as text for error messages, without what is nested more deeply than `levels`."""
        if term == UNBOUND:
            return "unbound"
        if term < 0:
            return "a fresh container"
        kind, data = self.kinds[term], self.data[term]
        if kind & INSTALLED:
            return str(data)
        if kind & CONST:
            return f"code {data.co_name}" if kind & CODE else _shortened(repr(data))
        if kind & (TUPLE | SLICE | IS) and not levels:
            return "..."
        if kind & TUPLE:
            parts = [self.text(item, levels - 1) for item in data[:8]]
            return "(" + ", ".join(parts) + (", ...)" if len(data) > 8 else ")")
        if kind & SLICE:
            return "slice(" + ", ".join([self.text(item, levels - 1) for item in data]) + ")"
        if kind & IS:
            return f"{self.text(data[0], levels - 1)} is {self.text(data[1], levels - 1)}"
        if kind & NOT:
            return f"not {self.text(data, levels)}"
        if isinstance(data, tuple):
            return f"<{data[0]} @{data[1]}>"
        return str(data) if data is not None else f"<value {term}>"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _nesting(value: Any) -> int:
    """Return how deeply tuples are nested in a constant, at most DEEPEST."""
    level, depth = [value], 0
    while level and depth < DEEPEST:
        level = [item for outer in level if type(outer) is tuple for item in outer]
        depth += 1
    return depth
