"""The source of a program as its record has it: that of the functions which Dynamo compiled or skipped.

A record names files of the machine that it was made on. They are never read for it: the file of that name may be
another one by now, and a record may come from anybody.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, NamedTuple

from depyf.record.records import FunctionRecord, SessionRecord
from depyf.record.vocabulary import FROM_FILE, FROM_LOG

_LAST_LINE = 10_000_000  # of any file; what names a later one is no record of depyf's


class _Text(NamedTuple):
    file: str
    first_line: int
    lines: List[str]


def known_lines(record: SessionRecord) -> Callable[[str, int], str]:
    """Return a function that returns lines of the program as the record has them; empty where it has none."""
    lines: Dict[str, Dict[int, str]] = {}
    for text in _texts(record):
        lines.setdefault(text.file, {}).update(enumerate(text.lines, text.first_line))
    return lambda file, line: lines.get(file, {}).get(line, "")


def lines_around(record: SessionRecord, file: str, line: int) -> List[str]:
    """Return the lines of a file up to the end of the function around a line; empty ones before that function.

    No lines where the record has no function there.
    """
    around = [text for text in _texts(record) if text.file == file and 0 <= line - text.first_line < len(text.lines)]
    if not around:
        return []
    innermost = max(around, key=lambda text: text.first_line)
    return ["\n"] * (innermost.first_line - 1) + [f"{one}\n" for one in innermost.lines]


def _texts(record: SessionRecord) -> Iterator[_Text]:
    for function in record.functions:
        yield from _of(function)


def _of(function: FunctionRecord) -> Iterator[_Text]:
    for one in (function, function.original):
        if one is not None and one.source_origin in (FROM_FILE, FROM_LOG) and one.source.strip():
            if 0 < one.first_line < _LAST_LINE:
                yield _Text(one.file, one.first_line, one.source.rstrip("\n").split("\n"))
