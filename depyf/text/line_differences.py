"""The lines in which two long texts differ that have most of their lines in common.

Lines that both texts have once are paired first, and the ranges between them are compared in the same way (patience
diff): in generated code nearly every statement is such a line, so this takes one pass over most texts.
"""

from __future__ import annotations

import bisect
import difflib
from typing import Dict, Iterator, List, Sequence, Tuple

Range = Tuple[int, int, int, int]  # [start, end) in the one text, [start, end) in the other


def differing_ranges(before: Sequence[str], now: Sequence[str]) -> List[Range]:
    """Return where the texts differ, in order; at least one side of each range is not empty."""
    found: List[Range] = []
    for start, end, other_start, other_end in _ranges(before, now, (0, len(before), 0, len(now))):
        if found and found[-1][1] == start and found[-1][3] == other_start:
            found[-1] = (found[-1][0], end, found[-1][2], other_end)
        else:
            found.append((start, end, other_start, other_end))
    return found


def _ranges(before: Sequence[str], now: Sequence[str], whole: Range) -> Iterator[Range]:
    waiting = [whole]
    while waiting:
        start, end, other_start, other_end = waiting.pop()
        while start < end and other_start < other_end and before[start] == now[other_start]:
            start, other_start = start + 1, other_start + 1
        while start < end and other_start < other_end and before[end - 1] == now[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        if start == end or other_start == other_end:
            if start < end or other_start < other_end:
                yield start, end, other_start, other_end
            continue
        pairs = _pairs(before[start:end], now[other_start:other_end])
        if not pairs:
            matcher = difflib.SequenceMatcher(None, before[start:end], now[other_start:other_end], autojunk=False)
            for kind, i1, i2, j1, j2 in matcher.get_opcodes():
                if kind != "equal":
                    yield start + i1, start + i2, other_start + j1, other_start + j2
            continue
        ends = [(start + one, other_start + other) for one, other in pairs]
        starts = [(start, other_start), *[(one + 1, other + 1) for one, other in ends]]
        between = zip(starts, [*ends, (end, other_end)])
        waiting += reversed([(one[0], last[0], one[1], last[1]) for one, last in between])


def _pairs(before: Sequence[str], now: Sequence[str]) -> List[Tuple[int, int]]:
    """Return the lines that both texts have once, as many as stand in the same order in both."""
    places = _once(now)
    common = [(number, places[line]) for line, number in _once(before).items() if line in places]
    ends: List[int] = []  # of the rising sequences of each length: the least place in `now` that one ends with
    tops: List[int] = []  # ... and which of `common` that is
    previous: List[int] = []
    for index, (_, place) in enumerate(common):
        length = bisect.bisect_left(ends, place)
        previous.append(tops[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        tops[length : length + 1] = [index]
    chosen: List[Tuple[int, int]] = []
    index = tops[-1] if tops else -1
    while index >= 0:
        chosen.append(common[index])
        index = previous[index]
    return chosen[::-1]


def _once(lines: Sequence[str]) -> Dict[str, int]:
    """Return the lines that occur once, with their numbers, in order."""
    found: Dict[str, int] = {}
    again = set()
    for number, line in enumerate(lines):
        if line in found:
            again.add(line)
        found.setdefault(line, number)
    return {line: number for line, number in found.items() if line not in again}
