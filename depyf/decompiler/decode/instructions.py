"""Bytes -> raw instructions, by the opcode tables of the code's own version."""

from __future__ import annotations

import functools
from types import CodeType
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union, overload

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import PythonFacts, Version
from depyf.decompiler.decode import (
    opcode_numbers_37,
    opcode_numbers_38,
    opcode_numbers_39,
    opcode_numbers_310,
    opcode_numbers_311,
    opcode_numbers_312,
    opcode_numbers_313,
    opcode_numbers_314,
    opcode_numbers_315,
)

MOST_ARGUMENT = 1 << 31  # arguments are C ints
OPCODE_TABLES = {
    (3, 7): opcode_numbers_37,
    (3, 8): opcode_numbers_38,
    (3, 9): opcode_numbers_39,
    (3, 10): opcode_numbers_310,
    (3, 11): opcode_numbers_311,
    (3, 12): opcode_numbers_312,
    (3, 13): opcode_numbers_313,
    (3, 14): opcode_numbers_314,
    (3, 15): opcode_numbers_315,
}


MOST_EXTENDED = 0xFFFFFF00  # bits that EXTENDED_ARGs can give an argument, which is an int of C


class Raw(NamedTuple):
    """One instruction as the interpreter sees it, EXTENDED_ARG folded in."""

    offset: int  # of the instruction itself, after its EXTENDED_ARGs
    start: int  # of its first EXTENDED_ARG: where jumps to it land
    opname: str
    arg: int
    after: int  # offset of the next instruction, caches skipped


Plain = Tuple[int, int, str, int, int]  # the fields of a Raw


class Instructions(Sequence[Raw]):
    """The instructions of a code object, kept as plain tuples: the garbage collector leaves out those of no objects."""

    __slots__ = ("plain",)

    def __init__(self, plain: List[Plain]) -> None:
        self.plain = plain

    def __len__(self) -> int:
        return len(self.plain)

    @overload
    def __getitem__(self, index: int) -> Raw: ...

    @overload
    def __getitem__(self, index: slice) -> List[Raw]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Raw, List[Raw]]:
        if isinstance(index, slice):
            return [Raw(*fields) for fields in self.plain[index]]
        return Raw(*self.plain[index])

    def __iter__(self) -> Iterator[Raw]:
        return (Raw(*fields) for fields in self.plain)


class ExceptionRange(NamedTuple):
    """One entry of the exception table, in byte offsets."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def raw_instructions(code: CodeType, version: Version) -> Instructions:
    """Return all instructions of `code` in order. Raises Malformed if one is unknown or not whole."""
    known = _opcodes_by_number(version)
    found: List[Plain] = []
    data = code.co_code
    offset, extended, start = 0, 0, 0
    size = len(data)
    while offset < size:
        entry = known[data[offset]]
        if entry is None:
            raise Malformed(f"opcode {data[offset]} at {offset} is unknown to Python {version[0]}.{version[1]}")
        opname, width = entry
        arg = data[offset + 1] | extended
        if opname == "EXTENDED_ARG":
            extended = arg << 8
            if extended >= MOST_ARGUMENT:
                raise Malformed(f"the argument of the instruction at {offset} is too large")
            offset += 2
            continue
        after = offset + width
        found.append((offset, start, opname, arg, after))
        offset = start = after
        extended = 0
    if start != size or not found:
        raise Malformed("the code ends inside an instruction" if found else "there are no instructions")
    return Instructions(found)


# Jumps whose argument is a distance in every version.
RELATIVE = frozenset({
    "JUMP_FORWARD", "FOR_ITER", "SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "CALL_FINALLY", "SETUP_LOOP",
    "SETUP_EXCEPT",
})  # fmt: skip


def jump_target(raw: Raw, facts: PythonFacts) -> int:
    """Return the byte that a jump leads to, which may lie outside of the code."""
    if "BACKWARD" in raw.opname:
        return raw.after - facts.jump_unit * raw.arg
    is_absolute = facts.jumps_are_absolute and raw.opname not in RELATIVE
    return (0 if is_absolute else raw.after) + facts.jump_unit * raw.arg


def has_extended_arguments(code: CodeType, version: Version) -> bool:
    """Return whether an instruction of `code` may have an argument of more than a byte."""
    return opcode_number("EXTENDED_ARG", version) in code.co_code[::2]


def opcode_names(version: Version) -> Dict[int, str]:
    """Return opcode -> name."""
    names: Dict[int, str] = OPCODE_TABLES[version].OPNAMES
    return names


@functools.lru_cache(maxsize=None)
def opcode_number(opname: str, version: Version) -> int:
    """Return the number of an opcode, which that version must have."""
    return next(opcode for opcode, (name, _) in _opcodes(version).items() if name == opname)


# Opcodes that only the interpreter writes, over others: in a file, they make it follow null pointers.
_OWN_OPCODES = frozenset({"ENTER_EXECUTOR", "TRACE_RECORD"})


def opcode_widths(version: Version) -> Dict[int, int]:
    """Return opcode -> size in bytes, with the inline caches behind it, of every opcode that a compiler may write."""
    return {opcode: width for opcode, (name, width) in _opcodes(version).items() if name not in _OWN_OPCODES}


def every_unit(code: CodeType, version: Version) -> Iterator[Raw]:
    """Yield the instructions of code that may be malformed, EXTENDED_ARG as an instruction of its own.

    An opcode that is none has its number for a name.
    """
    known = _opcodes(version)
    data = code.co_code
    offset, extended = 0, 0
    while offset + 1 < len(data):
        opname, width = known.get(data[offset]) or (f"<{data[offset]}>", 2)
        arg = data[offset + 1] | extended
        yield Raw(offset, offset, opname, arg, offset + width)
        extended = (arg << 8) & MOST_EXTENDED if opname == "EXTENDED_ARG" else 0
        offset += width


@functools.lru_cache(maxsize=None)
def _opcodes(version: Version) -> Dict[int, Tuple[str, int]]:
    """Return opcode -> (name, size in bytes with the caches behind it)."""
    table = OPCODE_TABLES[version]
    return {opcode: (name, 2 + 2 * table.CACHES.get(name, 0)) for opcode, name in table.OPNAMES.items()}


@functools.lru_cache(maxsize=None)
def _opcodes_by_number(version: Version) -> List[Optional[Tuple[str, int]]]:
    """Return what `_opcodes` has for each byte, None for one that is no opcode."""
    known = _opcodes(version)
    return [known.get(opcode) for opcode in range(256)]


def exception_ranges(code: CodeType) -> List[ExceptionRange]:
    """Return the exception table (3.11 and newer); see `read_exception_table`."""
    return read_exception_table(getattr(code, "co_exceptiontable", b""))


def read_exception_table(data: bytes) -> List[ExceptionRange]:
    """Return the ranges of an exception table (format: Objects/exception_handling_notes.txt in CPython).

    Raises Malformed where the interpreter would read beyond the table, or take the middle of an entry for its start.
    """
    ranges, position = [], 0

    def varint(position: int, start_bit: int) -> Tuple[int, int]:
        byte = data[position] ^ start_bit
        value = byte & 63
        while byte & 192 == 64 and value < MOST_ARGUMENT:  # another byte follows, and this one starts no entry
            position += 1
            byte = data[position]
            value = (value << 6) | (byte & 63)
        if byte & 128 or value >= MOST_ARGUMENT:
            raise Malformed(f"the exception table is malformed at its byte {position}")
        return value, position + 1

    while position < len(data):
        try:
            start, position = varint(position, 128)  # the first byte of an entry, and no other, has this bit
            length, position = varint(position, 0)
            target, position = varint(position, 0)
            depth_lasti, position = varint(position, 0)
        except IndexError:
            raise Malformed("the exception table is malformed: it ends inside an entry") from None
        ranges.append(
            ExceptionRange(start * 2, (start + length) * 2, target * 2, depth_lasti >> 1, bool(depth_lasti & 1))
        )
    return ranges
