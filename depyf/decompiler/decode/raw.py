"""Bytes -> raw instructions, by the opcode tables of the code's own version."""

from __future__ import annotations

from types import CodeType
from typing import Dict, Iterator, List, NamedTuple, Tuple

from ..python_facts import Version
from . import opcodes_311, opcodes_312, opcodes_313

OPCODE_TABLES = {(3, 11): opcodes_311, (3, 12): opcodes_312, (3, 13): opcodes_313}


class Raw(NamedTuple):
    """One instruction as the interpreter sees it, EXTENDED_ARG folded in."""

    offset: int  # of the instruction itself, after its EXTENDED_ARGs
    start: int  # of its first EXTENDED_ARG: where jumps to it land
    opname: str
    arg: int
    after: int  # offset of the next instruction, caches skipped


class ExceptionRange(NamedTuple):
    """One entry of the exception table, in byte offsets."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def raw_instructions(code: CodeType, version: Version) -> Iterator[Raw]:
    """All instructions of `code` in order."""
    table = OPCODE_TABLES[version]
    opnames: Dict[int, str] = table.OPNAMES
    caches: Dict[str, int] = table.CACHES
    data = code.co_code
    offset, extended, start = 0, 0, 0
    size = len(data)
    while offset < size:
        opname = opnames.get(data[offset])
        arg = data[offset + 1] | extended
        if opname == "EXTENDED_ARG":
            extended = arg << 8
            offset += 2
            continue
        if opname is None:
            raise ValueError(f"opcode {data[offset]} at {offset} is unknown to Python {version[0]}.{version[1]}")
        after = offset + 2 + 2 * caches.get(opname, 0)
        yield Raw(offset, start, opname, arg, after)
        offset = start = after
        extended = 0


def exception_ranges(code: CodeType) -> List[ExceptionRange]:
    """The exception table (3.11 and newer; format: Objects/exception_handling_notes.txt in CPython)."""
    data = getattr(code, "co_exceptiontable", b"")
    ranges, position = [], 0

    def varint(position: int) -> Tuple[int, int]:
        byte = data[position]
        value = byte & 63
        while byte & 64:
            position += 1
            byte = data[position]
            value = (value << 6) | (byte & 63)
        return value, position + 1

    while position < len(data):
        start, position = varint(position)
        length, position = varint(position)
        target, position = varint(position)
        depth_lasti, position = varint(position)
        ranges.append(
            ExceptionRange(start * 2, (start + length) * 2, target * 2, depth_lasti >> 1, bool(depth_lasti & 1))
        )
    return ranges
