"""The part of `python -m depyf where` on what torch.compile reported about a line: breaks, failures, recompiles."""

from __future__ import annotations

import os
from typing import Iterator

from depyf.line_table.folders import FolderTable
from depyf.line_table.line_reports import ASKS, BREAKS, CALLS, FAILS, RAISES, LineReport
from depyf.record.records import SKIP_KINDS
from depyf.report.break_paths import why_no_resume
from depyf.report.call_chains import place_of
from depyf.report.wrapper_notes import title_apart


def report_lines(folder: FolderTable, report: LineReport) -> Iterator[str]:
    """Yield what was reported, what became of the function, and its story."""
    yield _what(report)
    function, skip = report.function, report.skip
    title = title_apart(folder.record, function)
    ids = f"compile id{'s' * (len(report.compile_ids) > 1)} {', '.join(filter(None, report.compile_ids)) or 'unknown'}"
    if skip is not None and not folder.record.frames_of(function.key):
        yield f"  {title} is not compiled ({ids}): {SKIP_KINDS.get(skip.kind, skip.reason)}"
    elif skip is not None:
        yield f"  {title} is not compiled from there on ({ids}): {SKIP_KINDS.get(skip.kind, skip.reason)}"
    elif report.kind == ASKS:
        yield f"  {title} was compiled again ({ids})"
    else:
        yield f"  while compiling {title} ({ids})"
    why = why_no_resume(report.graph_break, function) if report.graph_break is not None and skip is not None else ""
    if why:
        yield f"  {why}"
    if function.full_code_file is not None:
        yield f"  story: {os.path.join(folder.path, function.full_code_file)}"


def _what(report: LineReport) -> str:
    one = report.graph_break
    if report.kind == ASKS:
        return f"guard that failed, asked for here: {report.failed}"
    if report.kind == FAILS or one is None:
        return f"compiling fails here: {'' if report.skip is None else report.skip.reason}"
    if report.kind == RAISES:
        return f"graph break because of this line, at {place_of(one.location)}: {one.reason}"
    if report.kind == CALLS:
        return f"graph break below, at {place_of(one.location)}: {one.reason}"
    raised = "" if one.raised_before is None else f"; raised first at {place_of(one.raised_before)}"
    assert report.kind == BREAKS
    return f"graph break here: {one.reason}{raised}"
