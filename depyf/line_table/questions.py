"""Ask the table: from a line of the user's to everything made of it, and from a line of depyf's files back.

    model.py:13                          a line of the user's
    __compiled_fn_1.kernel_0.py:162      a line of a file in the folder
    cpp_fused_gelu_0                     a kernel

What cannot be answered is a `NoAnswer` with one line that gives the reason.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import FolderTable, source_lines
from depyf.line_table.known_lines import lines_around
from depyf.line_table.line_reports import LineReport, files_of, reports_on
from depyf.line_table.rows import Row
from depyf.line_table.statement_spans import Span, has_code, statement_at
from depyf.record.stack_text import digest_of
from depyf.record.vocabulary import KERNEL


class NoAnswer(UserError):
    """The table has nothing about the place that was asked for; the message gives the reason on one line."""


class SourceChanged(NoAnswer):
    """A file of the user's is not the one that was compiled any more, so its line numbers would mislead."""


@dataclass(frozen=True)
class Found:
    """Rows of one folder."""

    folder: FolderTable
    rows: Tuple[Row, ...]


@dataclass(frozen=True)
class FromUser:
    """What was made of a line of the user's."""

    file: str
    span: Span  # of the statement, where the line itself has nothing
    code: str
    found: Tuple[Found, ...]
    reported: Tuple[Tuple[FolderTable, LineReport], ...] = ()  # graph breaks, failures and recompiles


@dataclass(frozen=True)
class FromFile:
    """What something in a file of the folder stems from."""

    found: Tuple[Found, ...]  # the rows of each thing on the line, or of each kernel of that name


def ask(text: str, folders: Sequence[FolderTable]) -> FromUser | FromFile:
    """Return the answer to a question; NoAnswer with the reason where there is none."""
    file, _, number = text.rpartition(":")
    if not file or not number.isdigit():
        return _of_kernel(text, folders)
    line = int(number)
    owners = [one for one in folders if _name_in(one, file)]
    if owners:
        return _of_file(owners, file, line)
    if any(row.name == file for one in folders for row in one.table.rows):
        return _of_kernel(file, folders)
    found = _user_file(file, folders)
    return _of_user_line(found, line, folders, is_named=os.path.abspath(file) == os.path.abspath(found))


# -- files of the folder


def _name_in(folder: FolderTable, file: str) -> str:
    """Return the name under which a folder has a file; empty if it has none."""
    name = os.path.basename(file)
    inside = os.path.dirname(os.path.abspath(file)) == os.path.abspath(folder.path) or name == file
    return name if inside and name in folder.record.files else ""


def _of_file(owners: Sequence[FolderTable], file: str, line: int) -> FromFile:
    found = []
    for one in owners:
        name = _name_in(one, file)
        rows = [row for row in one.table.rows if row.file == name]
        if not rows:
            raise NoAnswer(f"{name} is for reading: ask about your own lines, or about the files of code that it names")
        here = _rows_on(rows, line) or _rows_below(rows, line, one.table.texts[name])
        found += [Found(one, here)] if here else []
    if not found:
        raise NoAnswer(f"{os.path.basename(file)}:{line} has no node, kernel or statement that stems from a line")
    return FromFile(_known(found, f"{os.path.basename(file)}:{line}"))


def _rows_on(rows: Sequence[Row], line: int) -> Tuple[Row, ...]:
    here = [row for row in rows if row.is_on(line)]
    return tuple([row for row in here if row.line == line] or here)


def _rows_below(rows: Sequence[Row], line: int, text: Sequence[str]) -> Tuple[Row, ...]:
    """Return the rows of what a comment stands above."""
    if not text[line - 1 : line] or not text[line - 1].lstrip().startswith("#"):
        return ()
    following = min((row.line for row in rows if row.line > line), default=0)
    return _rows_on(rows, following)


def _of_kernel(name: str, folders: Sequence[FolderTable]) -> FromFile:
    found = []
    for one in folders:
        rows = tuple([row for row in one.table.rows if row.name == name and row.stage == KERNEL and not row.last_line])
        found += [Found(one, rows)] if rows else []
    if not found:
        what = "is no FILE:LINE, and no kernel of that name was called"
        raise NoAnswer(f"{name!r} {what}: give a line, as in model.py:42, or the name of a kernel")
    return FromFile(_known(found, name))


def _known(found: Sequence[Found], what: str) -> Tuple[Found, ...]:
    """Return what has a line of the user's; NoAnswer where nothing has."""
    known = tuple([Found(one.folder, tuple([row for row in one.rows if row.source])) for one in found])
    if any(one.rows for one in known):
        return tuple([one for one in known if one.rows])
    row = found[0].rows[0]
    if row.stage == KERNEL:
        raise NoAnswer(f"{what}: torch does not write the lines of this kernel down: run with INDUCTOR_PROVENANCE=1")
    raise NoAnswer(f"{what}: no line of the source is known for {row.name}")


# -- lines of the user's


def _user_file(text: str, folders: Sequence[FolderTable]) -> str:
    """Return the file of the user's that a path, or the end of one, names."""
    files = _user_files(folders)
    exact = [file for file in files if os.path.abspath(text) == os.path.abspath(file)]
    if exact:
        return exact[0]
    parts = os.path.normpath(text).split(os.sep)
    same = sorted(file for file in files if os.path.normpath(file).split(os.sep)[-len(parts) :] == parts)
    if len(same) > 1:
        raise NoAnswer(f"{text} may be {' or '.join(same)}: give more of the path")
    if not same:
        names = sorted({os.path.basename(file) for file in files})
        raise NoAnswer(
            f"nothing that was compiled stems from {text}; files it stems from: {', '.join(names) or 'none'}"
        )
    return same[0]


def _user_files(folders: Sequence[FolderTable]) -> Set[str]:
    of_rows = {place.file for one in folders for row in one.table.rows for place in row.calls}
    of_reports = {file for one in folders for file in files_of(one.record)}
    return of_rows | of_reports | {function.file for one in folders for function in one.record.functions}


def _of_user_line(file: str, line: int, folders: Sequence[FolderTable], is_named: bool) -> FromUser:
    """Answer for a line; the file is read only where the user named it himself (`is_named`), else the record is."""
    lines = source_lines(file) if is_named else []
    if lines:
        _require_same(file, folders)
    if line < 1 or (lines and line > len(lines)):
        raise NoAnswer(f"{file} has no line {line}" + (f": it has {len(lines)}" if lines else ""))
    if not lines:
        lines = next(filter(None, (lines_around(one.record, file, line) for one in folders)), [])
    span = Span(line, line)
    found, reported = _rows_of(file, span, folders), _reports_of(file, span, folders)
    if not found and not reported and lines:
        around = statement_at(lines, line)
        if around is None and not has_code(lines, line):
            raise NoAnswer(f"{file}:{line} has no code")
        span = around or span
        found, reported = _rows_of(file, span, folders), _reports_of(file, span, folders)
    if not found and not reported:
        raise NoAnswer(f"{file}:{line}: nothing that was compiled stems from this line, and no graph breaks here")
    return FromUser(file, span, _code_of(file, span, lines, found), found, reported)


def _reports_of(file: str, span: Span, folders: Iterable[FolderTable]) -> Tuple[Tuple[FolderTable, LineReport], ...]:
    return tuple([(one, report) for one in folders for report in reports_on(one.record, file, span)])


def _rows_of(file: str, span: Span, folders: Iterable[FolderTable]) -> Tuple[Found, ...]:
    found = []
    for one in folders:
        rows = [row for row in one.table.rows if any(_is_in(place.file, place.line, file, span) for place in row.calls)]
        found += [Found(one, tuple(rows))] if rows else []
    return tuple(found)


def _is_in(file: str, line: int, asked: str, span: Span) -> bool:
    return span.first <= line <= span.last and file == asked


def _code_of(file: str, span: Span, lines: List[str], found: Sequence[Found]) -> str:
    if lines:
        return lines[span.first - 1].strip()
    places = [place for one in found for row in one.rows for place in row.calls if place.file == file]
    return next((place.code for place in places if place.line == span.first), "")


def _require_same(file: str, folders: Sequence[FolderTable]) -> None:
    """Raise SourceChanged where the source is not the one that was compiled."""
    digests = {known.file: known.digest for one in folders for known in one.record.user_files}
    if file in digests:
        is_same = digests[file] == digest_of(file)
    else:
        is_same = all(code in ("", _line(file, line)) for line, code in _codes(file, folders).items())
    if not is_same:
        raise SourceChanged(f"{file} has changed since it was compiled: run the program again")


def _codes(file: str, folders: Sequence[FolderTable]) -> Dict[int, str]:
    places = [place for one in folders for row in one.table.rows for place in row.calls if place.file == file]
    return {place.line: place.code for place in places}


def _line(file: str, line: int) -> Optional[str]:
    lines = source_lines(file)
    return lines[line - 1].strip() if 0 < line <= len(lines) else None
