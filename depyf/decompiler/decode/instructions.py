"""Bytes -> raw instructions, by the opcode tables of the code's own version."""

from __future__ import annotations

import functools
from types import CodeType
from typing import Dict, List, NamedTuple, Tuple

from depyf.decompiler.bytecode.python_facts import Version
from depyf.decompiler.decode import opcode_numbers_311, opcode_numbers_312, opcode_numbers_313

OPCODE_TABLES = {(3, 11): opcode_numbers_311, (3, 12): opcode_numbers_312, (3, 13): opcode_numbers_313}


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


def raw_instructions(code: CodeType, version: Version) -> List[Raw]:
    """Return all instructions of `code` in order."""
    known = _opcodes(version)
    found: List[Raw] = []
    make = tuple.__new__  # as Raw(...), in half the time
    data = code.co_code
    offset, extended, start = 0, 0, 0
    size = len(data)
    while offset < size:
        if data[offset] not in known:
            raise ValueError(f"opcode {data[offset]} at {offset} is unknown to Python {version[0]}.{version[1]}")
        opname, width = known[data[offset]]
        arg = data[offset + 1] | extended
        if opname == "EXTENDED_ARG":
            extended = arg << 8
            offset += 2
            continue
        after = offset + width
        found.append(make(Raw, (offset, start, opname, arg, after)))
        offset = start = after
        extended = 0
    return found


@functools.lru_cache(maxsize=None)
def _opcodes(version: Version) -> Dict[int, Tuple[str, int]]:
    """Return opcode -> (name, size in bytes with the caches behind it)."""
    table = OPCODE_TABLES[version]
    return {opcode: (name, 2 + 2 * table.CACHES.get(name, 0)) for opcode, name in table.OPNAMES.items()}


def exception_ranges(code: CodeType) -> List[ExceptionRange]:
    """Return the exception table (3.11 and newer; format: Objects/exception_handling_notes.txt in CPython)."""
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
