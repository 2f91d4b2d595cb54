"""Location tables: the source positions of a code object's instructions, read within bounds.

`co_positions` and `co_lines` trust their table: one that ends inside an entry is read past its end, and one that is
longer than the code gives positions without end. A malformed table counts as empty here: code without positions is
ordinary, as tools strip them. CPython has described three formats: Objects/locations.md (3.11 and newer), and in
Objects/lnotab_notes.txt those of 3.10 and of older versions, which have lines alone.
"""

from __future__ import annotations

import itertools
import re
from types import CodeType
from typing import Iterable, Iterator, List, Optional, Tuple

from depyf.decompiler.bytecode.python_facts import LINE_DELTAS, LINE_NUMBERS, LOCATIONS

Stretch = Tuple[int, int, Optional[int]]  # first byte, byte after the last, line
Position = Tuple[Optional[int], Optional[int], Optional[int], Optional[int]]  # line, last line, column, end column
NO_POSITION: Position = (None, None, None, None)

_NUMBER = rb"[\x40-\x7f]{0,5}[\x00-\x3f]"  # six bits a byte, lowest first; bit 6: more follow
_TABLE = re.compile(
    rb"(?:[\x80-\xcf][\x00-\x7f]"  # kinds 0 to 9: one line, two small columns in a byte
    rb"|[\xd0-\xe7][\x00-\x7f]{2}"  # 10 to 12: the line is at most two further, two columns
    rb"|[\xe8-\xef]" + _NUMBER +  # 13: a line
    rb"|[\xf0-\xf7](?:" + _NUMBER + rb"){4}"  # 14: lines and columns
    rb"|[\xf8-\xff])*"  # 15: no position
)  # fmt: skip


def is_well_formed(table: bytes) -> bool:
    """Return whether a location table consists of whole entries."""
    return _TABLE.fullmatch(table) is not None


def positions_of(code: CodeType) -> List[Position]:
    """Return the position of each code unit (two bytes) of a code object."""
    units = len(code.co_code) // 2
    found: List[Position] = []
    if not hasattr(code, "co_exceptiontable"):
        size, first_line = len(code.co_code), code.co_firstlineno
        found.extend(itertools.islice(decoded_positions(*_older_table(code), size, first_line), units))
    elif is_well_formed(code.co_linetable):
        found.extend(itertools.islice(code.co_positions(), units))
    found.extend(itertools.repeat(NO_POSITION, units - len(found)))
    return found


def lines_of(code: CodeType) -> List[Stretch]:
    """Return (first byte, byte after the last, line) of each stretch of a code object's instructions."""
    size = len(code.co_code)
    if not hasattr(code, "co_exceptiontable"):
        decoded = decoded_lines(*_older_table(code), size, code.co_firstlineno)
        lines: Iterable[Stretch] = [(start, min(end, size), line) for start, end, line in decoded]
    elif is_well_formed(code.co_linetable):
        lines = code.co_lines()
    else:
        return []
    found = list(lines)
    while found and found[-1][0] >= size:  # a table may be longer than the code
        found.pop()
    return found


def _older_table(code: CodeType) -> Tuple[str, bytes]:
    """Return the form and the bytes of the line table that a code object has before 3.11."""
    table: Optional[bytes] = getattr(code, "co_linetable", None)
    return (LINE_DELTAS, table) if table is not None else (LINE_NUMBERS, code.co_lnotab)


def decoded_lines(form: str, table: bytes, size: int, first_line: int) -> List[Stretch]:
    """Return (first byte, byte after the last, line) of each stretch, read from a table of that form.

    As `co_lines` does: stretches of one line are one. `size` is the number of bytes of instructions.
    """
    if form == LOCATIONS:
        units, entries = 0, []
        for count, position in locations(table, first_line):
            entries.append((2 * units, 2 * (units + count), position[0]))
            units += count
    else:
        entries = list(_by_deltas(table, first_line) if form == LINE_DELTAS else _by_numbers(table, size, first_line))
    merged: List[Stretch] = []
    for start, end, line in entries:
        if merged and merged[-1][2] == line:
            merged[-1] = (merged[-1][0], end, line)
        elif end > start:
            merged.append((start, end, line))
    return merged


def decoded_positions(form: str, table: bytes, size: int, first_line: int) -> Iterator[Position]:
    """Yield the position of each code unit, read from a table of that form; see `decoded_lines`."""
    if form == LOCATIONS:
        for count, position in locations(table, first_line):
            yield from itertools.repeat(position, count)
    else:
        for start, end, line in decoded_lines(form, table, size, first_line):
            yield from itertools.repeat((line, line, None, None), (end - start) // 2)


def locations(table: bytes, line: int) -> Iterator[Tuple[int, Position]]:
    """Yield (number of code units, position) of each entry of a well-formed table."""
    data = iter(table)
    for byte in data:
        count, kind = (byte & 7) + 1, byte >> 3 & 15
        if kind < 10:
            columns = next(data)
            first = kind << 3 | columns >> 4
            yield count, (line, line, first, first + (columns & 15))
        elif kind < 13:
            line += kind - 10
            yield count, (line, line, next(data), next(data))
        elif kind == 13:
            line += _signed(_number(data))
            yield count, (line, line, None, None)
        elif kind == 14:
            line += _signed(_number(data))
            last, first, end = line + _number(data), _number(data), _number(data)
            yield count, (line, last, first - 1 if first else None, end - 1 if end else None)
        else:
            yield count, NO_POSITION


def _number(data: Iterator[int]) -> int:
    value = shift = 0
    for byte in data:
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value


def _signed(value: int) -> int:
    return -(value >> 1) if value & 1 else value >> 1


_NO_LINE = -128


def _by_deltas(table: bytes, line: int) -> Iterator[Stretch]:
    """Yield the stretches of a table of 3.10: pairs of bytes of code and line delta."""
    end = 0
    for size, delta in zip(table[::2], memoryview(table[1::2]).cast("b")):
        start, end = end, end + size
        if delta != _NO_LINE:
            line += delta
        yield start, end, line if delta != _NO_LINE else None


def _by_numbers(table: bytes, size: int, line: int) -> Iterator[Stretch]:
    """Yield the stretches of a table before 3.10: pairs of bytes since the last mark and line delta at this one."""
    start = end = 0
    for step, delta in zip(table[::2], memoryview(table[1::2]).cast("b")):
        end += step
        if step:
            yield start, end, line
            start = end
        line += delta
    yield start, size, line
