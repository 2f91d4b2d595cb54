"""Shorten generated code for the story: runs of lines that differ from earlier ones in numbers only are folded.

    weight_1 = parameters_1['weight']
    bias_1 = parameters_1['bias']
    # ... 48 times more, with other numbers: lines 9-104 of the file

The docstring, which every version and every resume function has again, becomes one line. What is left is Python
wherever the code was. A later version is shown by the lines in which it differs from the version before it, where that
is shorter.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from depyf.text.number_shapes import number_shapes

_FEWEST = 6  # lines that a fold leaves out: for fewer, the remark about them would not be worth it
_LONGEST = 500  # lines that a repeated piece may have
_MOST_GONE = 3  # lines of the earlier version that are shown where more are gone: they stand above
_MOST_CANDIDATES = 12  # earlier places that a run of lines is compared with
_CONTINUES = re.compile(r"\s*(?:[\])}]|(?:else|elif|except|finally|case)\b)")


@dataclass(frozen=True)
class CodeLine:
    """A line of the story: one of the file, or a remark in place of several."""

    number: int  # of the line in the file; of the first one that a remark stands for
    text: str
    folded: str = ""  # the lines that a remark stands for

    @property
    def last(self) -> int:
        """The number of the last line that it stands for."""
        return self.number + self.folded.count("\n")

    @property
    def code(self) -> str:
        """What stands in the file."""
        return self.folded or self.text


def fold_statements(lines: Sequence[str]) -> List[CodeLine]:
    """Return the lines of a file with remarks in place of those that repeat earlier ones with other numbers."""
    whole = fold_docstring(lines)
    others = [line.text for line in whole if not line.folded]
    if len(whole) < 2 * _FEWEST or any('"""' in line or "'''" in line or line.endswith("\\") for line in others):
        return whole
    return _Folder(whole).folded()


def fold_docstring(lines: Sequence[str]) -> List[CodeLine]:
    """Return the lines of a function with a remark in place of its docstring."""
    whole = [CodeLine(number, line) for number, line in enumerate(lines, start=1)]
    start = next((number for number, line in enumerate(lines) if line.rstrip().endswith(":")), len(lines)) + 1
    if start >= len(lines) or not lines[start].lstrip(" ").startswith(_QUOTES):
        return whole
    ends = [number for number in range(start, len(lines)) if lines[number].count(_QUOTES) != (number == start)]
    if not ends or ends[0] < start + 2 or lines[ends[0]].count(_QUOTES) != 1 or not lines[ends[0]].endswith(_QUOTES):
        return whole
    end = ends[0] + 1
    remark = f"{' ' * _indent(lines[start])}{_QUOTES}(the docstring of the original){_QUOTES}"
    return [*whole[:start], CodeLine(start + 1, remark, "\n".join(lines[start:end])), *whole[end:]]


_QUOTES = '"""'


class _Folder:
    def __init__(self, whole: Sequence[CodeLine]) -> None:
        self._whole = whole
        lines = self._lines = [line.text for line in whole]
        self._indents = [_indent(line) for line in lines]
        codes: Dict[str, str] = {}  # a line with one digit for each number -> the character that stands for it
        self._shape = "".join([codes.setdefault(shape, chr(len(codes) + 1)) for shape in number_shapes(lines)])
        self._seen: Dict[str, List[int]] = {}  # shapes of a few lines -> where they start

    def folded(self) -> List[CodeLine]:
        found: List[CodeLine] = []
        position = 0
        while position < len(self._lines):
            start, length = self._longest_match(position)
            length = self._whole_lines(position, length, position - start)
            if length < _FEWEST:
                self._remember(position)
                found.append(self._whole[position])
                position += 1
                continue
            lines = "\n".join(self._lines[position : position + length])
            found.append(CodeLine(self._number(position), self._remark(position, length, start), lines))
            for passed in range(position, position + length):
                self._remember(passed)
            position += length
        return found

    def _number(self, position: int) -> int:
        return self._whole[position].number

    def _remember(self, position: int) -> None:
        key = self._shape[position : position + _FEWEST]
        places = self._seen.setdefault(key, [])
        places.append(position)
        if len(places) > _MOST_CANDIDATES:
            del places[1]  # the first one is shown for certain

    def _longest_match(self, position: int) -> Tuple[int, int]:
        """Return where the longest run of lines like those from `position` on starts, and its length."""
        best = (position, 0)
        for start in self._seen.get(self._shape[position : position + _FEWEST], ()):
            length = self._common(start, position)
            if length > best[1] or (length == best[1] and start > best[0]):
                best = (start, length)
        return best

    def _common(self, start: int, position: int) -> int:
        """Return how many lines from both places on have the same shape."""
        shape, length, step = self._shape, 0, 64
        while step:
            one = shape[start + length : start + length + step]
            other = shape[position + length : position + length + step]
            if one == other and len(other) == step:
                length += step
            else:
                step //= 2
        return length

    def _whole_lines(self, position: int, length: int, distance: int) -> int:
        """Return how many of the lines can be left out so that the others stay whole statements."""
        if length < _FEWEST or not self._can_start(position):
            return 0
        own = self._indents[position]
        deepest = next((n for n in range(length) if self._indents[position + n] < own), length)
        if distance <= deepest and distance <= _LONGEST:
            rounds = deepest // distance * distance
            if rounds and self._can_end(position, rounds):
                return rounds
        return next((n for n in range(deepest, _FEWEST - 1, -1) if self._can_end(position, n)), 0)

    def _can_start(self, position: int) -> bool:
        is_inside = position > 0 and self._indents[position - 1] >= self._indents[position]
        return is_inside and bool(self._lines[position].strip()) and not _CONTINUES.match(self._lines[position])

    def _can_end(self, position: int, length: int) -> bool:
        end = position + length
        if end >= len(self._lines):
            return True
        line, own, after = self._lines[end], self._indents[position], self._indents[end]
        return bool(line.strip()) and (after < own or (after == own and not _CONTINUES.match(line)))

    def _remark(self, position: int, length: int, start: int) -> str:
        margin, first = " " * self._indents[position], self._number(position)
        last = self._number(position + length - 1)
        distance = position - start
        if length % distance == 0:
            return (
                f"{margin}# ... {_times(length // distance)} more, with other numbers: lines {first}-{last} of the file"
            )
        like = f"lines {self._number(start)}-{self._number(start + length - 1)}"
        return f"{margin}# ... lines {first}-{last} of the file: as {like}, with other numbers"


_ITEM = re.compile(r" +[\w.]+,$")


def filled_lists(lines: Sequence[str], width: int) -> List[str]:
    """Return the lines with names in brackets, of which each has one of its own, on as few as fit the width."""
    found: List[str] = []
    is_list = False
    for line in lines:
        is_item = _ITEM.match(line) is not None
        if is_item and is_list and _indent(line) == _indent(found[-1]) and len(found[-1]) + len(line.strip()) < width:
            found[-1] += " " + line.strip()
        else:
            found.append(line)
        is_list = is_item
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def differences(before: Sequence[CodeLine], now: Sequence[CodeLine]) -> List[str]:
    """Return the lines in which two folded codes differ, those of the earlier one with `-`, of the later with `+`.

    Where both have the same remark in place of lines that differ, it stands once, with `~`.
    """
    texts = [[line.code for line in lines] for lines in (before, now)]
    found: List[str] = []
    width = len(str(max([line.number for line in (*before, *now)], default=0)))
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes():
        if kind != "equal":
            both = {line.text for line in before[i1:i2] if line.folded} & {line.text for line in now[j1:j2]}
            gone = [line for line in before[i1:i2] if line.text not in both]
            shown = gone if len(gone) <= _MOST_GONE else gone[:1]
            found += [f"{line.number:{width}} - {line.text}" for line in shown]
            if len(gone) > len(shown):
                found.append(f"{gone[1].number:{width}} - ... and on to line {gone[-1].last}")
            for line in now[j1:j2]:
                mark, remark = ("~", "   (not the same in both)") if line.text in both else ("+", "")
                found.append(f"{line.number:{width}} {mark} {line.text}{remark}")
    return found
