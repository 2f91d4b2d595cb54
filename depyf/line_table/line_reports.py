"""What torch.compile reported about a line of the user's: graph breaks there or below it, failures, failed guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple

from depyf.line_table.statement_spans import Span
from depyf.record.records import (
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    Location,
    SessionRecord,
    SkipRecord,
)
from depyf.record.vocabulary import FAILED, INTERRUPTED, SUPPRESSED_ERROR

BREAKS = "breaks"  # the graph breaks on the line
RAISES = "raises"  # the line raises the exception on which a graph breaks further on
CALLS = "calls"  # the graph breaks in a function that the line calls
FAILS = "fails"  # compiling fails on the line
ASKS = "asks"  # the line asked for the guard that failed, so that Dynamo compiled again


@dataclass(frozen=True)
class LineReport:
    """One thing that was reported about a line, for one function."""

    kind: str
    function: FunctionRecord  # that was compiled, or tried; of a resume function the one that it continues
    compile_ids: Tuple[str, ...]
    graph_break: Optional[GraphBreak] = None
    skip: Optional[SkipRecord] = None  # why the function is left to Python, where that is so
    failed: Optional[FailedGuard] = None


def reports_on(record: SessionRecord, file: str, span: Span) -> Tuple[LineReport, ...]:
    """Return what was reported about the lines of a statement: breaks first, each once for a function.

    Of functions that a break went through, the one whose own line this is comes first, then those that called it.
    """
    found: Dict[Tuple[object, ...], LineReport] = {}
    for one in _all(record, file, span):
        told = one.graph_break.reason if one.graph_break is not None else str(one.failed or one.skip)
        place = one.graph_break.location if one.graph_break is not None else None
        known = found.setdefault((one.kind, one.function.key, told, place), one)
        ids = tuple(dict.fromkeys(known.compile_ids + one.compile_ids))
        found[one.kind, one.function.key, told, place] = LineReport(**{**vars(known), "compile_ids": ids})
    return tuple(sorted(found.values(), key=lambda one: (_ORDER.index(one.kind), _calls_before(one, file, span))))


def _calls_before(report: LineReport, file: str, span: Span) -> int:
    """Return how many calls of the way to a break come before the line."""
    way = () if report.graph_break is None else report.graph_break.way
    places = (number for number, call in enumerate(way) if call.file == file and span.first <= call.line <= span.last)
    return next(places, len(way))


_ORDER = (BREAKS, RAISES, FAILS, CALLS, ASKS)


def files_of(record: SessionRecord) -> Iterator[str]:
    """Yield the files of the lines about which something was reported."""
    for _, _, one in _breaks(record):
        yield from [place.file for place in (one.location, one.raised_at, *one.stack) if place is not None]
    for frame in record.frames:
        yield from [one.location.file for one in frame.failed_guards if one.location is not None]
    for function in record.functions:
        yield from [skip.location.file for skip in function.skips if skip.location is not None]


def _all(record: SessionRecord, file: str, span: Span) -> Iterator[LineReport]:
    def holds(place: Optional[Location]) -> bool:
        return place is not None and place.file == file and span.first <= place.line <= span.last

    for function, compile_id, one in _breaks(record):
        kind = BREAKS if holds(one.location) else RAISES if holds(one.raised_before) else ""
        kind = kind or (CALLS if any(map(holds, one.way)) else "")
        if kind:
            skip = _skip_with(function, one)
            yield LineReport(kind, _whole(record, function), (compile_id,), one, skip)
    for function in record.functions:
        for skip in function.skips:
            if skip.kind in (FAILED, SUPPRESSED_ERROR, INTERRUPTED) and not skip.graph_breaks and holds(skip.location):
                yield LineReport(FAILS, _whole(record, function), (skip.compile_id,), None, skip)
    for frame in record.frames:
        for failed in frame.failed_guards:
            if holds(failed.location):
                yield LineReport(ASKS, _whole(record, _function(record, frame)), (frame.compile_id,), failed=failed)


def _breaks(record: SessionRecord) -> Iterator[Tuple[FunctionRecord, str, GraphBreak]]:
    for frame in record.frames:
        for one in frame.graph_breaks:
            yield _function(record, frame), frame.compile_id, one
    for function in record.functions:
        for skip in function.skips:
            for one in skip.graph_breaks:
                yield function, skip.compile_id, one


def _skip_with(function: FunctionRecord, graph_break: GraphBreak) -> Optional[SkipRecord]:
    return next((skip for skip in function.skips if graph_break in skip.graph_breaks), None)


def _function(record: SessionRecord, frame: FrameRecord) -> FunctionRecord:
    return record.function(frame.function)


def _whole(record: SessionRecord, function: FunctionRecord) -> FunctionRecord:
    """Return the function that a resume function continues, or itself."""
    passed: List[str] = []
    while function.resume_of is not None and function.key not in passed:
        passed.append(function.key)
        try:
            function = record.function(function.resume_of)
        except KeyError:
            break
    return function
