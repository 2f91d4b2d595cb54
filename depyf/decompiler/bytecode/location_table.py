"""Location tables (3.11 and newer): the source positions of a code object's instructions, read within bounds.

`co_positions` and `co_lines` trust their table: one that ends inside an entry is read past its end, and one that is
longer than the code gives positions without end. A malformed table counts as empty here: code without positions is
ordinary, as tools strip them. The format is in Objects/locations.md of CPython.
"""

from __future__ import annotations

import itertools
import re
from types import CodeType
from typing import List, Optional, Tuple

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
    if is_well_formed(code.co_linetable):
        found.extend(itertools.islice(code.co_positions(), units))
    found.extend(itertools.repeat(NO_POSITION, units - len(found)))
    return found


def lines_of(code: CodeType) -> List[Tuple[int, int, Optional[int]]]:
    """Return (first byte, byte after the last, line) of each stretch of a code object's instructions."""
    size = len(code.co_code)
    if not is_well_formed(code.co_linetable):
        return []
    return list(itertools.takewhile(lambda stretch: stretch[0] < size, code.co_lines()))
