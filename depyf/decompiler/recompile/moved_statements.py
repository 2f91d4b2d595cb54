"""Give a code object the positions that its statements have in another text, without compiling that text.

The two texts have the same statements in the same order. In the first, each is on a line of its own; the other may
break it into several lines, and have more between its tokens. So each entry of the location table (3.11 and newer:
Objects/locations.md in CPython) is moved by the lines and columns of its statement. Statements that are laid out alike
are moved once: a graph has the same few forms over and over.
"""

from __future__ import annotations

import re
from types import CodeType
from typing import Dict, List, Mapping, Tuple

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.location_table import NO_POSITION, Position, locations
from depyf.decompiler.recompile.relabelling import signed_varint, varint

_NUMBER = rb"[\x40-\x7f]{0,5}[\x00-\x3f]"
_COLUMNS = rb"(?:" + _NUMBER + rb"){2}"
# Entries on the line of the entry before them, within that line.
_SAME_LINE = rb"(?:[\x80-\xcf][\x00-\x7f]|[\xd0-\xd7][\x00-\x7f]{2}|[\xf0-\xf7]\x00\x00" + _COLUMNS + rb"|[\xf8-\xff])*"
_HEAD = re.compile(_SAME_LINE)
# The entries of one line: the first one is one or two lines further (kinds 11, 12), or any number of lines (14).
_LINE = re.compile(rb"(?:[\xd8-\xe7][\x00-\x7f]{2}|[\xf0-\xf7]" + _NUMBER + rb"\x00" + _COLUMNS + rb")" + _SAME_LINE)


# Where a part of a statement is, which ends where the next part starts: the column where it starts, the line after the
# first one of the statement, and by how much its columns are moved.
Part = Tuple[int, int, int]
Layout = Tuple[Part, ...]  # of one statement, in the order of the columns


def moved(
    code: CodeType, filename: str, first_line: int, statements: Mapping[int, Tuple[int, Layout]]
) -> CodeType | None:
    """Return `code` with the positions of another text; None where its table cannot be read in this way.

    `statements`: line -> the first line of the same statement in the other text, and its layout there. `first_line`
    is the line of the `def`. The columns are those of ASCII text.
    """
    if not facts_of(code).line_tables_have_columns:
        return None
    table = _moved_table(code.co_linetable, code.co_firstlineno, first_line, statements)
    return None if table is None else code.replace(co_filename=filename, co_firstlineno=first_line, co_linetable=table)


def _moved_table(
    table: bytes, line: int, first_line: int, statements: Mapping[int, Tuple[int, Layout]]
) -> bytes | None:
    head = _HEAD.match(table)
    end = head.end() if head is not None else 0
    if any(position[2:] not in ((0, 0), (None, None)) for _, position in locations(table[:end], line)):
        return None  # the signature is laid out anew: nothing but the start of the function is on its line
    known: Dict[Tuple[bytes, int, Layout], Tuple[bytes, int]] = {}
    found = [table[:end]]
    now = first_line  # in the other text, of the last entry
    entries = _LINE.findall(table, end)
    if b"".join(entries) != table[end:]:
        return None
    for text in entries:
        line += _first_delta(text)
        if line not in statements:
            return None
        target, layout = statements[line]
        key = text, target - now, layout
        one = known.get(key)
        if one is None:
            one = known[key] = _moved_entries(text, target - now, layout)
        found.append(one[0])
        now = target + one[1]
    return b"".join(found)


def _first_delta(entries: bytes) -> int:
    """Return how many lines the first entry is after the one before it."""
    kind = entries[0] >> 3 & 15
    return kind - 10 if kind < 13 else next(locations(entries, 0))[1][0] or 0


def _moved_entries(entries: bytes, delta: int, layout: Layout) -> Tuple[bytes, int]:
    """Return the entries of one line as they are in the other text, and the line of the last one there.

    `delta` leads to the first line of the statement; lines are counted from there.
    """
    found = bytearray()
    now = -delta
    for count, position in locations(entries, 0):
        if position == NO_POSITION:
            found.append(0xF8 | count - 1)
        else:
            place = _moved_position(position, layout)
            found.extend(_entry(count, now, *place))
            now = place[0]
    return bytes(found), now


def _moved_position(position: Position, layout: Layout) -> Tuple[int, int, int, int]:
    """Return first line, last line, column and end column."""
    _, _, column, end = position
    assert column is not None and end is not None
    _, line, shift = layout[0]
    last_line, last_shift = line, shift
    for start, part_line, part_shift in layout:
        if start <= column:
            line, shift = part_line, part_shift
        if start < end:
            last_line, last_shift = part_line, part_shift
    return line, last_line, column + shift, end + last_shift


def _entry(count: int, before: int, line: int, last_line: int, column: int, end: int) -> List[int]:
    """Return one entry in the form that CPython chooses (`write_location_info_entry` in Python/compile.c)."""
    head, delta = 0x80 | count - 1, line - before
    if line == last_line:
        if delta == 0 and column < 80 and 0 <= end - column < 16:
            return [head | column >> 3 << 3, (column & 7) << 4 | end - column]
        if 0 <= delta < 3 and column < 128 and end < 128:
            return [head | 10 + delta << 3, column, end]
    numbers = varint(last_line - line), varint(column + 1), varint(end + 1)
    return [head | 14 << 3, *signed_varint(delta), *(byte for number in numbers for byte in number)]
