"""`python -m depyf where`: the answer to a question about lines, for a terminal, and the whole table as JSON."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from depyf.line_table.folders import FolderTable
from depyf.line_table.questions import Found, FromFile, FromUser
from depyf.line_table.rows import Row
from depyf.record.records import Location
from depyf.record.vocabulary import (
    BY_BYTECODE,
    BY_COMMENT,
    BY_GRAPH_CALL,
    BY_NAME,
    BY_PROOF,
    BY_PROVENANCE,
    BY_RESUME,
    BY_SOURCE_NODES,
    BY_STACK,
    KERNEL,
    TRANSFORMED_CODE,
)
from depyf.report.where_reports import report_lines
from depyf.text.lines import printable

_WIDEST = 120
# How a link is known -> what the thing in the folder has to do with the line.
_OF_LINE = {
    BY_PROOF: "copied from this line",
    BY_BYTECODE: "copied from this line",
    BY_RESUME: "continues after this line",
    BY_NAME: "runs the comprehension of this line",
    BY_GRAPH_CALL: "calls the graph that has its operations",
    BY_STACK: "its operations",
    BY_COMMENT: "its operations, by torch's comments",
    BY_SOURCE_NODES: "its operations, by Inductor's comments",
    BY_PROVENANCE: "its operations, by torch's provenance tracking",
}
_STEMS = {
    BY_PROOF: "copied by Dynamo from",
    BY_BYTECODE: "copied by Dynamo from",
    BY_RESUME: "continues after",
    BY_NAME: "runs the comprehension of",
    BY_GRAPH_CALL: "calls a graph with the operations of",
    BY_COMMENT: "stems, by torch's comments, from",
    BY_SOURCE_NODES: "stems, by Inductor's comments, from",
    BY_PROVENANCE: "stems, by torch's provenance tracking, from",
}
_ANNOTATION = re.compile(r'(?<=\w): "[^"]*"(?= = )')  # shape, type and device of a node's value


def render(answer: FromUser | FromFile) -> str:
    """Return the lines of an answer."""
    lines = _of_user(answer) if isinstance(answer, FromUser) else _of_file(answer)
    return "".join([printable(line) + "\n" for line in lines])


def render_json(answer: FromUser | FromFile) -> str:
    """Return an answer as data: the line that was asked for, what happened there, and the links to it or from it."""
    data: Dict[str, Any] = {}
    if isinstance(answer, FromUser):
        first, last = answer.span
        data = {"file": answer.file, "line": first, "last_line": last, "code": answer.code}
        data["reports"] = [" ".join(map(str.strip, report_lines(*one))) for one in answer.reported]
    data["links"] = [_fields(found.folder, row) for found in answer.found for row in found.rows]
    return json.dumps(data, indent=1) + "\n"


# -- from a line of the user's


def _of_user(answer: FromUser) -> Iterator[str]:
    first, last = answer.span
    yield f"{answer.file}:{first}{f'-{last}' if last > first else ''}: {answer.code}"
    before = ""
    for folder, report in answer.reported:
        what, *about = report_lines(folder, report)
        yield from about if what == before else [what, *about]
        before = what
    for found in answer.found:
        for heading, rows in _by_stage(found.rows):
            yield f"{heading}:"
            for line in dict.fromkeys(_made(found.folder, row, answer) for row in rows):
                yield "  " + line
        yield from _not_known(found)


def _by_stage(rows: Iterable[Row]) -> Iterator[Tuple[str, List[Row]]]:
    groups: Dict[str, List[Row]] = {}
    for row in rows:
        if not row.last_line:  # a kernel is listed by its calls
            groups.setdefault(f"{_stage(row)}, {_OF_LINE.get(row.basis, row.basis)}", []).append(row)
    return iter(groups.items())


def _stage(row: Row) -> str:
    return f"{row.stage} ({row.made_for})" if row.made_for else row.stage


def _made(folder: FolderTable, row: Row, answer: FromUser) -> str:
    text = _text(folder, row)
    if row.stage == KERNEL:
        defined = [one for one in folder.table.rows if one.last_line and (one.file, one.name) == (row.file, row.name)]
        text = f"{row.name}(...)" + (f", defined at line {defined[0].line}" if defined else "")
    return f"{os.path.join(folder.path, row.file)}:{row.line}: {_cut(text)}{_note(row, answer)}"


def _note(row: Row, answer: FromUser) -> str:
    """Return what qualifies a link: the line inside a function that was called, other calls, another line number."""
    assert row.source is not None
    notes = []
    place = row.source.calls[-1]
    is_direct = place.file == answer.file and answer.span.first <= place.line <= answer.span.last
    if not is_direct and row.stage != TRANSFORMED_CODE:
        notes.append(f"from {os.path.basename(place.file)}:{place.line}, which it calls")
    if not row.source.is_sure:
        notes.append("or from another call of it" if not is_direct else "one of several calls")
    if row.source.has_moved:
        notes.append("the text in torch's cache has another line number")
    return f"  # {'; '.join(notes)}" if notes else ""


def _not_known(found: Found) -> Iterator[str]:
    """Yield what the folder lacks: kernels and nodes of the same graphs of which no line is known."""
    if not found.folder.record.complete:
        yield f"not known: what came later, since the program was killed or still runs: `finish` {found.folder.path}"
    graphs = {row.file.split(".")[0] for row in found.rows if row.stage != TRANSFORMED_CODE}
    unknown: Dict[Tuple[str, str], int] = {}
    for row in found.folder.table.rows:
        if row.source is None and not row.last_line and row.file.split(".")[0] in graphs:
            unknown[row.stage, row.file] = unknown.get((row.stage, row.file), 0) + 1
    for (stage, file), number in unknown.items():
        of_kernels = "torch records them under `depyf run --provenance` (INDUCTOR_PROVENANCE=1)"
        why = of_kernels if stage == KERNEL else "torch has none, or its cache was filled from another source"
        what = "kernel" if stage == KERNEL else "node"
        yield f"not known: the lines of {number} {what}{'s' * (number > 1)} in {file}: {why}"


# -- from a line of a file


def _of_file(answer: FromFile) -> Iterator[str]:
    for found in answer.found:
        for rows in _things(found.rows):
            row = rows[0]
            name = f"{row.name}, " if row.name and row.stage != TRANSFORMED_CODE else ""
            text = "" if row.last_line else f": {_cut(_text(found.folder, row))}"
            yield f"{os.path.join(found.folder.path, row.file)}:{row.line}{text}"
            yield f"{name}{_stage(row)}, {_STEMS.get(row.basis, 'stems from')}:"
            yield from dict.fromkeys(map(_stack, rows))


def _things(rows: Sequence[Row]) -> Iterable[List[Row]]:
    groups: Dict[Tuple[str, int, str, str], List[Row]] = {}
    for row in rows:
        groups.setdefault((row.file, row.line, row.name, row.basis), []).append(row)
    return groups.values()


def _stack(row: Row) -> str:
    """Return the line that something stems from, with the calls that led there behind it."""
    assert row.source is not None
    *outer, place = row.source.calls
    called = "".join([f", called at {one.file}:{one.line}" for one in reversed(outer)])
    return f"  {_place(place)}{called}{'' if row.source.is_sure else '  # one of these'}"


def _place(place: Location) -> str:
    return f"{place.file}:{place.line}: {place.code}" if place.code else f"{place.file}:{place.line}"


def _text(folder: FolderTable, row: Row) -> str:
    lines = folder.table.texts.get(row.file, [])
    text = lines[row.line - 1].strip() if row.line <= len(lines) else ""
    return text if row.stage in (KERNEL, TRANSFORMED_CODE) else _ANNOTATION.sub("", text, count=1).split(";  ")[0]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 4].rstrip() + " ..."


# -- the whole table


def render_table(folders: Sequence[FolderTable]) -> str:
    """Return the tables of folders as JSON: a line for each link."""
    rows = [json.dumps(_fields(one, row)) for one in folders for row in one.table.rows]
    return "[\n " + ",\n ".join(rows) + "\n]\n" if rows else "[]\n"


def _fields(folder: FolderTable, row: Row) -> Dict[str, Any]:
    return {
        "file": os.path.join(folder.path, row.file),
        "line": row.line,
        "last_line": row.reaches,
        "stage": row.stage,
        "made_for": row.made_for,
        "name": row.name,
        "basis": row.basis,
        "is_sure": row.source is not None and row.source.is_sure,
        "has_moved": row.source is not None and row.source.has_moved,
        "calls": [asdict(place) for place in row.calls],
    }
