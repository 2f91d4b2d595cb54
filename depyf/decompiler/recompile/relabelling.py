"""Relabelling: give a code object another file name and other lines, and keep its instructions.

Only `co_filename`, `co_firstlineno` and the line table change: a debugger then stops, steps and lists in that
file while the very same instructions run. The attributes of a code object show which of three formats its line
table has:

- `co_exceptiontable` (3.11 and newer): location table, Objects/locations.md in CPython (PEP 626, PEP 657)
- `co_linetable` without it (3.10): pairs of byte and line deltas, Objects/lnotab_notes.txt (PEP 626)
- `co_lnotab` alone (3.8, 3.9): the older pairs, Objects/lnotab_notes.txt
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from depyf.decompiler.bytecode.code_objects import CODE_TYPES

Run = Tuple[int, int]  # bytes of code, line they belong to

_CODE_UNIT = 2  # bytes per code unit, since 3.6
_NO_COLUMNS = 13  # kind of location entry that has a line but no columns
_UNITS_PER_ENTRY = 8


def relabel(code: CodeType, filename: str, lines: Sequence[Tuple[int, int]], first_line: int | None = None) -> CodeType:
    """Return `code` with `filename` and the lines given as (offset of an instruction, line), sorted by offset.

    Instructions before the first offset belong to the first line; `first_line` is the line of the `def`
    (by default the smallest line). Nested code objects stay the same objects: their maker may compare them by
    identity.
    """
    start = first_line if first_line is not None else min((line for _, line in lines), default=1)
    runs = _runs(lines, len(code.co_code), start)
    changes: Dict[str, Any] = {"co_filename": filename, "co_firstlineno": start}
    if hasattr(code, "co_exceptiontable"):
        changes["co_linetable"] = encode_locations(runs, start)
    elif hasattr(code, "co_linetable"):
        changes["co_linetable"] = encode_line_deltas(runs, start)
    else:
        changes["co_lnotab"] = encode_lnotab(runs, start)
    return code.replace(**changes)


def move(code: CodeType, filename: str, by_lines: int = 0) -> CodeType:
    """Return `code` and all code inside it with another file name and all lines shifted.

    For code that nothing compares by identity: a generated function whose text was copied to `filename`.
    """
    constants = tuple(
        move(constant, filename, by_lines) if isinstance(constant, CODE_TYPES) else constant
        for constant in code.co_consts
    )
    return code.replace(co_filename=filename, co_firstlineno=code.co_firstlineno + by_lines, co_consts=constants)


def adopt_lines(code: CodeType, twin: CodeType) -> CodeType:
    """Return `code` with the file name and lines of `twin`, which has the same instructions, nested code included."""
    if code.co_code != twin.co_code:
        raise ValueError("the instructions of the two code objects differ")
    constants = tuple(
        adopt_lines(mine, theirs) if isinstance(mine, CODE_TYPES) and isinstance(theirs, CODE_TYPES) else mine
        for mine, theirs in zip(code.co_consts, twin.co_consts)
    )
    table = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"
    changes: Dict[str, Any] = {table: getattr(twin, table)}
    return code.replace(
        co_filename=twin.co_filename, co_firstlineno=twin.co_firstlineno, co_consts=constants, **changes
    )


def _runs(lines: Sequence[Tuple[int, int]], size: int, start: int) -> List[Run]:
    """Return stretches of code that belong to one line each; together they cover `size` bytes."""
    marks = [(offset, line) for offset, line in lines if 0 <= offset < size]
    if not marks or marks[0][0] > 0:
        marks.insert(0, (0, marks[0][1] if marks else start))
    ends = [offset for offset, _ in marks[1:]] + [size]
    runs: List[Run] = []
    for (offset, line), end in zip(marks, ends):
        if end <= offset:
            continue
        if runs and runs[-1][1] == line:
            runs[-1] = (runs[-1][0] + end - offset, line)
        else:
            runs.append((end - offset, line))
    return runs


def encode_locations(runs: Sequence[Run], first_line: int) -> bytes:
    """Return the location table of 3.11 and newer: lines without columns."""
    table = bytearray()
    current = first_line
    for size, line in runs:
        units = size // _CODE_UNIT
        while units:
            chunk = min(units, _UNITS_PER_ENTRY)
            table.append(0x80 | (_NO_COLUMNS << 3) | (chunk - 1))
            table.extend(signed_varint(line - current))
            current = line
            units -= chunk
    return bytes(table)


def signed_varint(value: int) -> Iterator[int]:
    """Return the bytes of a number with a sign, which is bit 0."""
    return varint((-value << 1) | 1 if value < 0 else value << 1)


def varint(unsigned: int) -> Iterator[int]:
    """Yield six bits a byte, lowest first; bit 6 is set if more follow."""
    while unsigned >= 64:
        yield 0x40 | (unsigned & 0x3F)
        unsigned >>= 6
    yield unsigned


def encode_line_deltas(runs: Sequence[Run], first_line: int) -> bytes:
    """Return the line table of 3.10: (bytes that follow, line delta before them)."""
    table = bytearray()
    current = first_line
    for size, line in runs:
        for delta in _steps(line - current, 127, -127):
            table.extend((0, delta & 0xFF))
        last = table.pop() if line != current else 0  # the last step shares its entry with the bytes
        if line != current:
            table.pop()
        current = line
        while size > 254:
            table.extend((254, last))
            size, last = size - 254, 0
        table.extend((size, last))
    return bytes(table)


def encode_lnotab(runs: Sequence[Run], first_line: int) -> bytes:
    """Return the `co_lnotab` of 3.8 and 3.9: (bytes since the last mark, line delta at this mark)."""
    table = bytearray()
    current = first_line
    pending = 0  # bytes since the last mark
    for size, line in runs:
        if line != current:
            while pending > 255:
                table.extend((255, 0))
                pending -= 255
            for delta in _steps(line - current, 127, -128):
                table.extend((pending, delta & 0xFF))
                pending = 0
            current = line
        pending += size
    return bytes(table)


def _steps(delta: int, most: int, least: int) -> Iterator[int]:
    """Yield steps that sum to `delta` and each fit one signed byte."""
    while delta:
        step = max(min(delta, most), least)
        yield step
        delta -= step
