"""Source lines of micro-ops, found when they are asked for: of most ops nothing asks."""

from __future__ import annotations

from bisect import bisect_right
from types import CodeType
from typing import List

from depyf.decompiler.bytecode.location_table import lines_of


class SourceLines:
    """Byte offset of an op -> source line, where the code object has one."""

    __slots__ = ("_ends", "_lines", "_starts")

    def __init__(self, code: CodeType) -> None:
        entries = [(start, end, line) for start, end, line in lines_of(code) if line is not None]
        self._starts: List[int] = [start for start, _, _ in entries]
        self._ends: List[int] = [end for _, end, _ in entries]
        self._lines: List[int] = [line for _, _, line in entries]

    def get(self, offset: int, default: int) -> int:
        """Return the line of the op at `offset`, or `default` where it has none."""
        place = bisect_right(self._starts, offset) - 1
        return self._lines[place] if place >= 0 and offset < self._ends[place] else default
