"""Shorten generated code for the story: runs of lines that differ from earlier ones in numbers only are folded.

    weight_1 = parameters_1['weight']
    bias_1 = parameters_1['bias']
    # ... 48 times more, with other numbers: lines 9-104 of the file

The docstring, which every version and every resume function has again, becomes one line. What is left is Python
wherever the code was. A later version is shown by the lines in which it differs from the version before it, where that
is shorter.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from depyf.text.line_differences import differing_ranges
from depyf.text.number_shapes import number_shapes

_FEWEST = 6  # lines that a fold leaves out: for fewer, the remark about them would not be worth it
_LONGEST = 500  # lines that a repeated piece may have
_MOST_GONE = 3  # lines of the earlier version that are shown where more are gone: they stand above
_MOST_CHANGED = 3  # places in one fold that are shown one by one
_WIDTH = 96  # of several items on one line
_MOST_CANDIDATES = 12  # earlier places that a run of lines is compared with
_CONTINUES = re.compile(r"\s*(?:[\])}]|(?:else|elif|except|finally|case)\b)")


class CodeLine(NamedTuple):
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


class _Docstring(NamedTuple):
    """The lines of a docstring, by their places in the file, and the remark in place of them."""

    start: int
    end: int
    remark: str


def fold_statements(lines: Sequence[str]) -> List[CodeLine]:
    """Return the lines of a file with remarks in place of those that repeat earlier ones with other numbers."""
    docstring = _docstring(lines)
    others = "\n".join(lines if docstring is None else [*lines[: docstring.start], *lines[docstring.end :]])
    is_odd = '"""' in others or "'''" in others or "\\\n" in others or others.endswith("\\")
    folder = _Folder(lines, docstring)
    return folder.unfolded() if is_odd or folder.is_short else folder.folded()


def fold_docstring(lines: Sequence[str]) -> List[CodeLine]:
    """Return the lines of a function with a remark in place of its docstring."""
    return _Folder(lines, _docstring(lines)).unfolded()


def _docstring(lines: Sequence[str]) -> Optional[_Docstring]:
    """Return the docstring of a function where it has several lines; None for any other."""
    start = next((number for number, line in enumerate(lines) if line.rstrip().endswith(":")), len(lines)) + 1
    if start >= len(lines) or not lines[start].lstrip(" ").startswith(_QUOTES):
        return None
    ends = [number for number in range(start, len(lines)) if lines[number].count(_QUOTES) != (number == start)]
    if not ends or ends[0] < start + 2 or lines[ends[0]].count(_QUOTES) != 1 or not lines[ends[0]].endswith(_QUOTES):
        return None
    remark = f"{' ' * _indent(lines[start])}{_QUOTES}(the docstring of the original){_QUOTES}"
    return _Docstring(start, ends[0] + 1, remark)


_QUOTES = '"""'


class _Folder:
    """Folds lines; those that stay become objects only when they are given back: most of a long frame do not."""

    def __init__(self, lines: Sequence[str], docstring: Optional[_Docstring]) -> None:
        self._docstring = docstring
        self._folded = "" if docstring is None else "\n".join(lines[docstring.start : docstring.end])
        if docstring is not None:
            lines = [*lines[: docstring.start], docstring.remark, *lines[docstring.end :]]
        self._lines = lines
        self.is_short = len(lines) < 2 * _FEWEST
        self._indents: List[int] = []
        self._shape = ""  # a character for each line, the same for lines that differ in numbers only
        self._seen: Dict[str, List[int]] = {}  # shapes of a few lines -> where they start

    def unfolded(self) -> List[CodeLine]:
        """Return the lines with the remark in place of the docstring alone."""
        return [self._line(position) for position in range(len(self._lines))]

    def folded(self) -> List[CodeLine]:
        """Return the lines with all remarks."""
        lines = self._lines
        self._indents = [len(line) - len(line.lstrip(" ")) for line in lines]
        codes: Dict[str, str] = {}  # a line with one digit for each number -> the character that stands for it
        self._shape = "".join([codes.setdefault(shape, chr(len(codes) + 1)) for shape in number_shapes(lines)])
        found: List[CodeLine] = []
        position = 0
        while position < len(lines):
            start, length = self._longest_match(position)
            length = self._whole_lines(position, length, position - start)
            if length < _FEWEST:
                self._remember(position, position + 1)
                found.append(self._line(position))
                position += 1
                continue
            text = "\n".join(lines[position : position + length])
            found.append(CodeLine(self._number(position), self._remark(position, length, start), text))
            self._remember(position, position + length)
            position += length
        return found

    def _line(self, position: int) -> CodeLine:
        docstring = self._docstring
        is_remark = docstring is not None and position == docstring.start
        return CodeLine(self._number(position), self._lines[position], self._folded if is_remark else "")

    def _number(self, position: int) -> int:
        docstring = self._docstring
        if docstring is None or position <= docstring.start:
            return position + 1
        return position + docstring.end - docstring.start

    def _remember(self, first: int, end: int) -> None:
        """Remember which shapes a few lines have from each of these places on."""
        seen, shape = self._seen, self._shape
        for position in range(first, end):
            key = shape[position : position + _FEWEST]
            places = seen.get(key)
            if places is None:
                seen[key] = [position]
                continue
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
        is_same = self._lines[position : position + length] == self._lines[start : start + length]
        with_what = "" if is_same else ", with other numbers"
        if length % distance == 0:
            return f"{margin}# ... {_times(length // distance)} more{with_what}: lines {first}-{last} of the file"
        like = f"lines {self._number(start)}-{self._number(start + length - 1)}"
        return f"{margin}# ... lines {first}-{last} of the file: as {like}{with_what}"


_ITEM = re.compile(r" +[\w.]+,$")
_ITEMS = re.compile(r" +[\w.]+,(?: [\w.]+,)*$")


def _is_next_item(before: str, line: str) -> bool:
    """Return whether a line has an item that can stand behind the items of the line before it."""
    is_item = _ITEM.match(line) is not None and _ITEMS.match(before) is not None
    return is_item and _indent(line) == _indent(before) and len(before) + len(line.strip()) < _WIDTH


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
    """Return the lines in which two codes differ, those of the earlier one with `-`, of the later with `+`.

    The lines of both files are compared, not the remarks of folds. Where many lines differ in a fold that both have,
    its remark stands once for them, with `~`.
    """
    old, new = _unfolded(before), _unfolded(now)
    ranges = differing_ranges(old, new)
    both = _changed_folds(before, now, ranges)
    found: List[str] = []
    width = len(str(max(len(old), len(new))))
    for i1, i2, j1, j2 in ranges:
        fold = next((one for one in both if one.number <= j1 + 1 and j2 <= one.last), None)
        if fold is not None:
            remark = f"{fold.number:{width}} ~ {fold.text}   (not the same in both)"
            found += [remark] if found[-1:] != [remark] else []
            continue
        gone = _shown(old, i1, i2, {})
        shown = gone if len(gone) <= _MOST_GONE else [gone[0], (gone[1][0], f"... and on to line {i2}")]
        found += [f"{number:{width}} - {text}" for number, text in shown]
        remarks = {one.number - 1: one for one in now if one.folded and j1 < one.number and one.last <= j2}
        found += [f"{number:{width}} + {text}" for number, text in _shown(new, j1, j2, remarks)]
    return found


def _unfolded(code: Sequence[CodeLine]) -> List[str]:
    return [line for one in code for line in one.code.split("\n")]


def _changed_folds(
    before: Sequence[CodeLine], now: Sequence[CodeLine], ranges: Sequence[Tuple[int, int, int, int]]
) -> List[CodeLine]:
    """Return the folds of the later code, with remarks that the earlier one has as well, in which many lines differ."""
    remarks = {line.text for line in before if line.folded}
    both = [line for line in now if line.folded and line.text in remarks]
    changed = [sum(one.number <= j1 + 1 and j2 <= one.last for _, _, j1, j2 in ranges) for one in both]
    return [one for one, count in zip(both, changed) if count > _MOST_CHANGED]


def _shown(lines: Sequence[str], start: int, end: int, remarks: Dict[int, CodeLine]) -> List[Tuple[int, str]]:
    """Return a range of lines with their numbers: items of a list together, and remarks in place of what they fold."""
    found: List[Tuple[int, str]] = []
    position = start
    while position < end:
        remark = remarks.get(position)
        text = lines[position] if remark is None else remark.text
        if remark is None and found and _is_next_item(found[-1][1], text):
            found[-1] = (found[-1][0], f"{found[-1][1]} {text.strip()}")
        else:
            found.append((position + 1, text))
        position = position + 1 if remark is None else remark.last
    return found
