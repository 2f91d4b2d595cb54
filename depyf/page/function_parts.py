"""Function parts: the data of a function's view.

source     text, file, first line and origin of what the user wrote
members    the function and its resume functions: key, title, skips, and what sets their versions apart
versions   compile_id, member, file, text, grade, links to the user's lines, breaks, guards, why it was compiled ...
guards     [condition, kind, place, flags]: those of all versions, each once; a version has their numbers, the ones
           that set versions apart first; repeated layers as in `guard_table`
"""

from __future__ import annotations

from typing import Dict, List, Sequence

from depyf.page.graph_parts import RowsByFile
from depyf.page.guard_table import GuardTable
from depyf.page.line_states import LineState, frames_behind, line_states, shown_source
from depyf.page.place_table import Data, PlaceTable
from depyf.record.records import (
    SKIP_KINDS,
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    SessionRecord,
)
from depyf.record.vocabulary import BY_GRAPH_CALL
from depyf.report.version_table import differing_values
from depyf.report.wrapper_notes import title_of

BreakNumbers = Dict[GraphBreak, int]


def function_part(
    record: SessionRecord, function: FunctionRecord, rows: RowsByFile, places: PlaceTable, breaks: BreakNumbers
) -> Data:
    """Return the data of the view of a function and its resume functions."""
    source = shown_source(function)
    members = members_of(record, function)
    guards = GuardTable(places)
    versions: List[Data] = []
    for number, member in enumerate(members):
        frames = record.frames_of(member.key)
        apart = _apart(frames)
        for frame in frames:
            states = {line: _state(one) for line, one in sorted(line_states(record, source, frame).items())}
            version = _version(record, frame, rows, places, breaks)
            versions.append({**version, "member": number, "guards": guards.add(frame.guards, apart), "states": states})
    return {
        "key": function.key,
        "name": function.display_name,
        "source": {
            "text": source.text,
            "file": places.file(source.file),
            "line": source.first_line,
            "origin": source.origin,
        },
        "decorators": places.all_of(function.decorators),
        "called_at": places.all_of(function.called_at),
        "members": [_member(record, member, places, breaks) for member in members],
        "versions": versions,
        "guards": guards.rows,
        **({"forms": guards.forms} if guards.forms else {}),
    }


def members_of(record: SessionRecord, function: FunctionRecord) -> List[FunctionRecord]:
    """Return a function and its resume functions, those of resume functions included, in the order of the program."""
    found: Dict[str, FunctionRecord] = {}
    work = [function]
    while work:
        one = work.pop(0)
        if one.key not in found:
            found[one.key] = one
            work += record.resumes_of(one.key)
    return list(found.values())


# ---------------------------------------------------------------- members


def _member(record: SessionRecord, member: FunctionRecord, places: PlaceTable, breaks: BreakNumbers) -> Data:
    frames = [frame for frame in record.frames_of(member.key) if frame.guards]
    columns = differing_values(frames) if len(frames) > 1 else []
    return {
        "key": member.key,
        "title": title_of(record, member),
        "earlier_versions": member.earlier_versions,
        "versions": [frame.compile_id for frame in frames],
        "apart": [{"about": column.about, "cells": list(column.cells)} for column in columns],
        "skips": [
            {
                "kind": skip.kind,
                "meaning": SKIP_KINDS.get(skip.kind, skip.kind),
                "reason": skip.reason,
                "compile_id": skip.compile_id,
                "at": places.of(skip.location),
                "hints": list(skip.hints),
                "breaks": sorted({breaks[one] for one in skip.graph_breaks}),
            }
            for skip in member.skips
        ],
    }


# ---------------------------------------------------------------- versions


def _version(
    record: SessionRecord, frame: FrameRecord, rows: RowsByFile, places: PlaceTable, breaks: BreakNumbers
) -> Data:
    own = rows.of(frame.file)
    calls = dict.fromkeys((row.line, row.name) for row in own if row.basis == BY_GRAPH_CALL)
    return {
        "compile_id": frame.compile_id,
        "file": frame.file,
        "text": rows.text(frame.file) or frame.source,
        "grade": frame.grade,
        "assumptions": list(frame.assumptions),
        "divergence": frame.divergence,
        "rung": frame.rung,
        "installed": frame.installed,
        "from_cache": frame.from_cache,
        "graphs": list(frame.graphs),
        "all_graphs": [name for one in frames_behind(record, frame) for name in one.graphs],
        "resumes": [[one.name, one.function] for one in frame.resumes],
        "breaks": sorted({breaks[one] for one in frame.graph_breaks}),
        "links": [[one.line, places.file(one.user_file), one.user_line, one.found_by] for one in frame.line_links],
        "calls": [list(call) for call in calls],
        "failed": [failed_guard(one, places) for one in frame.failed_guards],
        "reasons": [] if frame.failed_guards else list(frame.recompile_reasons),
        "called_from": places.of(frame.called_from),
    }


def failed_guard(failed: FailedGuard, places: PlaceTable) -> Data:
    """Return a guard that failed: what the version needs, what came, and who asked for it."""
    return {
        "version": failed.version,
        "need": failed.need,
        "about": failed.about,
        "condition": failed.condition,
        "then": failed.then,
        "now": failed.now,
        "instead": failed.instead,
        "likewise": failed.likewise,
        "also": [{"about": one.about, "then": one.then, "now": one.now, "text": str(one)} for one in failed.also],
        "also_more": failed.also_more,
        "is_nearest": failed.is_nearest,
        "at": places.of(failed.location),
        "first_used": failed.first_used,
        "of_sizes": failed.of_sizes,
        "way": places.all_of(failed.stack),
        "advice": failed.advice,
    }


def _state(state: LineState) -> Data:
    found: Data = {}
    if state.graphs:
        found["graphs"] = list(state.graphs)
    for name in ("broke", "in_python", "asked", "unreached"):
        if getattr(state, name):
            found[name] = 1
    return found


def _apart(frames: Sequence[FrameRecord]) -> Dict[str, int]:
    """Return the conditions that some versions have and others have not."""
    if len(frames) < 2:
        return {}
    counts: Dict[str, int] = {}
    for frame in frames:
        for condition in {guard.condition for guard in frame.guards}:
            counts[condition] = counts.get(condition, 0) + 1
    return {condition: count for condition, count in counts.items() if count < len(frames)}
