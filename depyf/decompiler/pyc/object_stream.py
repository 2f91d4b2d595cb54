"""The objects of a `.pyc` file: Python's marshal format, version 4, as far as code objects need it.

Python/marshal.c in CPython has the format. An object is a byte for its type and what belongs to it. A type with the
high bit set is also added to a list, and the type `r` refers to that list by number. So a few bytes can stand for
something very deep or very large: depth and size are measured as if every reference were a copy. The reader keeps a
stack of its own and does not recurse.
"""

from __future__ import annotations

import struct
import sys
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Union

from depyf.decompiler.bytecode.python_facts import Version, facts_for
from depyf.decompiler.pyc.code_record import CodeRecord
from depyf.decompiler.pyc.damage import DamagedFile
from depyf.decompiler.pyc.field_orders import BYTES, CONSTANTS, FIELD_ORDERS, INTEGER, NAMES, TEXT, record_fields

DEEPEST = 500  # tuples and code objects inside each other; the parser of CPython stops at 200 parentheses
LARGEST_GROWTH = 4  # objects for each byte of the file, references counted as copies; real files have less than 0.3
UNMEASURED = 10_000  # objects that are never too many
MOST_OF_ONE_HASH = 64  # elements of a set: more of them take quadratic time, and only an attacker has them
HAS_NUMBER = 0x80  # in the type of an object that later ones refer to

_BOUNDS = 3  # of a slice: start, stop and step
SINGLETONS = {"N": None, "F": False, "T": True, ".": Ellipsis}
NO_CONSTANTS = {
    "[": "a list", "{": "a dictionary", "<": "a set that can change", "S": "StopIteration", "0": "a null",
    "?": "an object without a form", "f": "a float as text", "x": "a complex number as text",
    "I": "an integer of an old format",
}  # fmt: skip
_KINDS = {int: "a number", float: "a number", complex: "a number", str: "text", bytes: "bytes", tuple: "a tuple"}


class Measured(NamedTuple):
    """A value that was read, and how large and deep it is without references."""

    value: Any
    at: int
    weight: int = 1
    depth: int = 0
    has_code: bool = False  # is or holds a code object


class _Collection:
    """A tuple, frozenset or slice whose items are being read."""

    def __init__(self, at: int, number: Optional[int], count: int, kind: str) -> None:
        self.at, self.number = at, number
        self.missing = count
        self.kind = kind  # the byte of its type
        self.items: List[Any] = []
        self.weight, self.depth, self.has_code = 1, 1, False

    def add(self, item: Measured) -> None:
        """Take one item. Raises DamagedFile for one that cannot be in it."""
        if item.has_code and (self.kind in ">:" or not isinstance(item.value, CodeRecord)):
            raise DamagedFile(item.at, "a code object inside a constant")
        self.items.append(item.value)
        self.missing -= 1
        self.weight += item.weight
        self.depth = max(self.depth, item.depth + 1)
        self.has_code = self.has_code or item.has_code

    def value(self) -> Any:
        """Return the whole."""
        if self.kind == ":":
            return slice(*self.items)
        return tuple(self.items) if self.kind != ">" else _frozenset(self.items, self.at)


class _Code:
    """A code object whose fields are being read."""

    def __init__(self, at: int, number: Optional[int], version: Version) -> None:
        self.at, self.number = at, number
        self.version = version
        self.missing = list(reversed(FIELD_ORDERS[version]))
        self.fields: Dict[str, Any] = {}
        self.weight, self.depth, self.has_code = 1, 1, True

    def add(self, item: Measured) -> None:
        """Take the value of the next field. Raises DamagedFile for one of another type."""
        name, kind = self.missing.pop()
        if not _is_of_kind(item, kind):
            found = _KINDS.get(type(item.value), "something else")
            raise DamagedFile(item.at, f"the {name} of a code object must be {kind}, not {found}")
        self.fields[name] = item.value
        self.weight += item.weight
        self.depth = max(self.depth, item.depth + 1)

    def value(self) -> CodeRecord:
        """Return the whole."""
        try:
            return CodeRecord(version=self.version, at=self.at, **record_fields(self.fields))
        except ValueError as error:
            raise DamagedFile(self.at, f"a code object that contradicts itself: {error}") from error


class ObjectStream:
    """Read the objects of one file, from byte `position` on."""

    def __init__(self, data: bytes, position: int, version: Version) -> None:
        self.data = data
        self.position = position
        self.version = version
        self.numbered: List[Optional[Measured]] = []  # None: not read to its end
        self.open: List[Union[_Collection, _Code]] = []
        self.heaviest = UNMEASURED + LARGEST_GROWTH * len(data)

    def read_code(self) -> CodeRecord:
        """Return the code object that begins here. Raises DamagedFile."""
        found = self.read()
        if not isinstance(found, CodeRecord):
            raise DamagedFile(self.position, "the file holds no code object")
        return found

    def read(self) -> Any:
        """Return the object that begins here; a code object is a CodeRecord. Raises DamagedFile."""
        while True:
            done = self._next()
            while done is not None:
                if not self.open:
                    return done.value
                self.open[-1].add(done)
                done = self._closed()

    def _next(self) -> Optional[Measured]:
        """Read one object, or open a collection or code object; None while there are items missing."""
        at = self.position
        byte = self._bytes(1, "an object")[0]
        kind, is_numbered = chr(byte & ~HAS_NUMBER), bool(byte & HAS_NUMBER)
        if kind in SINGLETONS:
            return Measured(SINGLETONS[kind], at)
        if kind == "r":
            return self._referred(at)
        if kind in "()>c" or (kind == ":" and facts_for(self.version).slices_are_constants):
            return self._opened(kind, at, is_numbered)
        read = _PLAIN.get(kind)
        if read is None:
            what = NO_CONSTANTS.get(kind)
            known = f"{what} is no constant of any code" if what else f"there is no type {byte:#04x}"
            raise DamagedFile(at, known)
        value = read(self)
        size = len(value) // 8 if isinstance(value, (str, bytes)) else value.bit_length() // 64 if kind == "l" else 0
        found = Measured(value, at, 1 + size)
        if is_numbered:
            self.numbered.append(found)
        return found

    def _referred(self, at: int) -> Measured:
        number = self.integer()
        if not 0 <= number < len(self.numbered):
            raise DamagedFile(at, f"a reference to object {number} of {len(self.numbered)}")
        found = self.numbered[number]
        if found is None:
            raise DamagedFile(at, f"a reference to object {number}, of which it is a part")
        return found._replace(at=at)

    def _opened(self, kind: str, at: int, is_numbered: bool) -> Optional[Measured]:
        number = len(self.numbered) if is_numbered else None
        if is_numbered:
            self.numbered.append(None)
        if len(self.open) >= DEEPEST:
            raise DamagedFile(at, f"more than {DEEPEST} objects inside each other")
        if kind == "c":
            self.open.append(_Code(at, number, self.version))
        else:
            count = _BOUNDS if kind == ":" else self._bytes(1, "a tuple")[0] if kind == ")" else self.integer()
            if not 0 <= count <= len(self.data) - self.position:  # an item has at least one byte
                raise DamagedFile(at, f"a collection of {count} items, and {self._rest()} bytes are left")
            self.open.append(_Collection(at, number, count, kind))
        return self._closed()

    def _closed(self) -> Optional[Measured]:
        """Return the innermost open object if it is complete, else None."""
        last = self.open[-1]
        if isinstance(last, _Code):
            while last.missing and last.missing[-1][1] == INTEGER:
                last.fields[last.missing.pop()[0]] = self.integer()
        if last.missing:
            return None
        self.open.pop()
        found = Measured(last.value(), last.at, last.weight, last.depth, last.has_code)
        if found.depth > DEEPEST:
            raise DamagedFile(last.at, f"more than {DEEPEST} objects inside each other")
        if found.weight > self.heaviest:
            raise DamagedFile(last.at, "its references stand for more than any compiler makes of a source")
        if last.number is not None:
            self.numbered[last.number] = found
        return found

    def integer(self) -> int:
        """Read a signed integer of four bytes."""
        return int.from_bytes(self._bytes(4, "an integer"), "little", signed=True)

    def sized(self, is_short: bool = False) -> bytes:
        """Read a length and as many bytes."""
        at = self.position
        size = self._bytes(1, "a length")[0] if is_short else self.integer()
        if not 0 <= size <= self._rest():
            raise DamagedFile(at, f"a length of {size} bytes, and {self._rest()} are left")
        return self._bytes(size, "text")

    def floats(self, count: int) -> List[float]:
        """Read numbers of eight bytes each."""
        return list(struct.unpack(f"<{count}d", self._bytes(8 * count, "a number")))

    def _bytes(self, count: int, what: str) -> bytes:
        if count > self._rest():
            raise DamagedFile(len(self.data), f"the file ends inside {what} that begins at byte {self.position}")
        found = self.data[self.position : self.position + count]
        self.position += count
        return found

    def _rest(self) -> int:
        return len(self.data) - self.position


def _long(stream: ObjectStream) -> int:
    """Read an integer of any size: digits of 15 bits, the sign in their number."""
    at = stream.position
    count = stream.integer()
    if 2 * abs(count) > len(stream.data) - stream.position:
        raise DamagedFile(at, f"an integer of {abs(count)} digits, and the file ends before")
    digits = struct.unpack(f"<{abs(count)}H", stream._bytes(2 * abs(count), "an integer"))
    if not digits:
        return 0
    if max(digits) >> 15 or not digits[-1]:
        raise DamagedFile(at, "an integer with a digit that cannot be there")
    value = int("".join([f"{digit:015b}" for digit in reversed(digits)]), 2)  # in linear time
    return -value if count < 0 else value


def _text(stream: ObjectStream) -> str:
    at = stream.position
    try:
        return stream.sized().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamagedFile(at, f"text that is no UTF-8: {error.reason}") from error


def _ascii(stream: ObjectStream, is_short: bool) -> str:
    at = stream.position
    try:
        return stream.sized(is_short).decode("ascii")
    except UnicodeDecodeError as error:
        raise DamagedFile(at, "text that is no ASCII, though its type states that") from error


_PLAIN: Dict[str, Callable[[ObjectStream], Any]] = {
    "i": ObjectStream.integer,
    "l": _long,
    "g": lambda stream: stream.floats(1)[0],
    "y": lambda stream: complex(*stream.floats(2)),
    "s": ObjectStream.sized,
    "u": _text,
    "a": lambda stream: _ascii(stream, False),
    "z": lambda stream: _ascii(stream, True),
    # Interned: a code object interns its constants, and a frozenset in which that changes one gets another order.
    "t": lambda stream: sys.intern(_text(stream)),
    "A": lambda stream: sys.intern(_ascii(stream, False)),
    "Z": lambda stream: sys.intern(_ascii(stream, True)),
}


def _is_of_kind(item: Measured, kind: str) -> bool:
    value = item.value
    if kind == BYTES:
        return isinstance(value, bytes)
    if kind == TEXT:
        return isinstance(value, str)
    if kind == NAMES:
        return isinstance(value, tuple) and all(isinstance(name, str) and _is_name(name) for name in value)
    assert kind == CONSTANTS
    return isinstance(value, tuple)


def _is_name(text: str) -> bool:
    """Return whether text can be encoded: no name of a source has half a character."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _frozenset(items: List[Any], at: int) -> FrozenSet[Any]:
    if any(isinstance(item, slice) for item in items):
        raise DamagedFile(at, "a set with a slice in it, which is no constant of any code")
    hashes = sorted(map(hash, items))
    if any(a == b for a, b in zip(hashes, hashes[MOST_OF_ONE_HASH:])):
        raise DamagedFile(at, f"a set of which more than {MOST_OF_ONE_HASH} elements have one hash")
    return frozenset(items)
