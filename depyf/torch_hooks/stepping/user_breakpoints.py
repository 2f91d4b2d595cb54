"""Carry breakpoints from lines of the user's program over to the lines of the files that run in their place.

Compiled code does not run the user's file, so a breakpoint there is accepted and never hit. The table of lines has the
lines of transformed code and graphs that stem from it: those that run as Python get a breakpoint of the same kind.
"""

from __future__ import annotations

import bdb
import os
import sys
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import FolderTable, read_tables
from depyf.line_table.questions import FromUser, NoAnswer, ask
from depyf.line_table.rows import Row
from depyf.record.records import SessionRecord
from depyf.record.vocabulary import BY_GRAPH_CALL, CAPTURED_GRAPH

Place = Tuple[str, int]


def carry_over(folder: str | None, captured_graphs_run: bool = False) -> List[str]:
    """Set the breakpoints that those of bdb's debugger in the user's files ask for; return a line on each.

    captured_graphs_run: the captured graphs run in the place of what a backend made of them.
    """
    debugger = getattr(sys.gettrace(), "__self__", None)
    if folder is None or not isinstance(debugger, bdb.Bdb):
        return []
    try:
        tables = read_tables(folder)
    except UserError:
        return []
    lines = []
    for point in _in_user_files(tables):
        lines.append(_carry_one(debugger, point, tables, captured_graphs_run))
    return [line for line in lines if line]


def _in_user_files(tables: Sequence[FolderTable]) -> List[Any]:
    """Return the breakpoints of bdb's that are in files which compiled code stems from."""
    files = {os.path.normcase(os.path.abspath(place.file)) for one in tables for place in _places(one)}
    points = [point for point in bdb.Breakpoint.bpbynumber if point is not None]
    return [point for point in points if os.path.normcase(point.file) in files]


def _places(one: FolderTable) -> Iterator[Any]:
    for row in one.table.rows:
        yield from row.calls


def _carry_one(debugger: bdb.Bdb, point: Any, tables: Sequence[FolderTable], captured_graphs_run: bool) -> str:
    here = f"{os.path.basename(point.file)}:{point.line}"
    try:
        answer = ask(f"{point.file}:{point.line}", tables)
    except NoAnswer:
        return ""  # nothing was compiled from that line, so it runs where it stands
    assert isinstance(answer, FromUser)
    targets = list(dict.fromkeys(_targets(answer, captured_graphs_run)))
    if not targets:
        return f"{here}: its code runs inside a kernel, where nothing can stop; debug(backend='eager') can"
    for file, line in targets:
        debugger.set_break(file, line, point.temporary, point.cond)
    return f"{here} -> " + ", ".join(f"{os.path.basename(file)}:{line}" for file, line in targets)


def _targets(answer: FromUser, captured_graphs_run: bool) -> Iterator[Place]:
    """Yield the lines that run as Python: of graphs where there are any, else of transformed code."""
    for found in answer.found:
        running = _running_files(found.folder.record, captured_graphs_run)
        rows = [row for row in found.rows if row.file in running and row.basis != BY_GRAPH_CALL and not row.last_line]
        for row in _first_stage(rows):
            yield os.path.join(os.path.abspath(found.folder.path), row.file), row.line


def _first_stage(rows: Sequence[Row]) -> List[Row]:
    """Return one row for each stage of each graph: stopping at the first line of a statement is enough."""
    first: Dict[Tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.file, row.stage), row)
    return list(first.values())


def _running_files(record: SessionRecord, captured_graphs_run: bool) -> Set[str]:
    names = {frame.file for frame in record.frames}
    for graph in record.graphs:
        if captured_graphs_run:
            names.update(stage.file for stage in graph.stages if stage.stage == CAPTURED_GRAPH)
        else:
            names.update(graph.linked_files)
    return names
