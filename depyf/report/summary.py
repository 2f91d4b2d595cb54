"""The few lines that end a session."""

from __future__ import annotations

import os
from typing import List, Optional

from depyf.record import GraphBreak, SessionRecord
from depyf.report.why_not import one_line, worth_a_line

LOST = " could not be written: "  # in the line that tells of files that a full disk or the like took

_MOST_BREAKS = 5
_MOST_SKIPS = 5
_MOST_RECOMPILED = 3


def render(record: SessionRecord, folder: str) -> str:
    """A short summary for a terminal: what was compiled, where the graphs broke, what to open first."""
    proved = sum(frame.grade.startswith("PROVED") for frame in record.frames)
    breaks = distinct_breaks(record)
    cached = sum(frame.from_cache for frame in record.frames)
    frames, graphs = _count(len(record.frames), "frame"), _count(len(record.graphs), "graph")
    what = f"{frames} ({proved} proved{_before(cached)}), {graphs}, {_count(len(breaks), 'graph break')}"
    lines = [f"depyf: {what} in {folder}"]
    if not record.complete:
        doing = f"while compiling {', '.join(record.compiling)}" if record.compiling else "not while compiling"
        lines.append(f"  not complete: the process was killed, or still ran, {doing}")
    if record.rank:
        return "\n".join(lines)  # rank 0 tells the rest once for all
    for graph_break in breaks[:_MOST_BREAKS]:
        lines.append(f"  graph break at {_place(graph_break)}: {graph_break.reason}")
    if len(breaks) > _MOST_BREAKS:
        lines.append(f"  ... and {len(breaks) - _MOST_BREAKS} more, see manifest.json")
    lines += _recompiled(record)
    lines += _not_compiled(record)
    if not record.frames and not record.graphs and not breaks and not record.skipped:
        lines.append("  nothing was compiled inside the context; was the function compiled before it?")
    first = _first_to_open(record)
    if first is not None:
        lines.append(f"  open first: {os.path.join(folder, first)}")
    lost = [problem for problem in record.problems if LOST in problem]
    lines += [f"  {problem}" for problem in lost]
    if len(record.problems) > len(lost):
        lines.append(f"  {_count(len(record.problems) - len(lost), 'problem')} inside depyf, see the log")
    return "\n".join(lines)


def _before(number: int) -> str:
    return f", {number} compiled before" if number else ""


def _recompiled(record: SessionRecord) -> List[str]:
    """The functions that were compiled most often, each with the last reason."""
    lines: List[str] = []
    frames = {function.key: record.frames_of(function.key) for function in record.functions}
    for function in sorted(record.functions, key=lambda one: -len(frames[one.key])):
        reasons = [str(failed) for frame in frames[function.key] for failed in frame.failed_guards[:1]]
        if reasons and len(lines) < _MOST_RECOMPILED:
            place = f"{function.name} ({function.file}:{function.first_line})"
            lines.append(f"  compiled {len(frames[function.key])} times: {place}; the last time {reasons[-1]}")
    return lines


def _not_compiled(record: SessionRecord) -> List[str]:
    """The functions that were left to Python: those that matter by name, the others as a number."""
    named = [one for one in record.skipped if worth_a_line(one) or not record.frames]
    compiled = {frame.function for frame in record.frames}
    lines = [
        f"  not {'always ' if function.key in compiled else ''}compiled: {one_line(function)}"
        for function in named[:_MOST_SKIPS]
    ]
    rest = len(record.skipped) - len(lines)
    if rest:
        what = f"{_count(rest, 'function')} {'more ' if lines else ''}left to Python (no graph, disabled ...)"
        lines.append(f"  {what}: why is in manifest.json")
    return lines


def _first_to_open(record: SessionRecord) -> Optional[str]:
    """The story of the first function that has a graph, or else of one that was compiled, or of one that was not."""
    compiled = {frame.function for frame in record.frames}
    with_graph = {frame.function for frame in record.frames if frame.graphs}
    stories = [function for function in record.functions if function.full_code_file in record.files]
    for function in sorted(stories, key=lambda one: (one.key not in with_graph, one.key not in compiled)):
        return function.full_code_file
    return record.frames[0].file if record.frames else None


def distinct_breaks(record: SessionRecord) -> List[GraphBreak]:
    """Each graph break once: the frames after a break, and recompilations, report it again."""
    every = [graph_break for frame in record.frames for graph_break in frame.graph_breaks]
    every.extend(record.lone_breaks)
    return list({(_place(one), one.reason.split(", and then ")[0]): one for one in every}.values())


def _place(graph_break: GraphBreak) -> str:
    if graph_break.location is None:
        return "an unknown place"
    return f"{graph_break.location.file}:{graph_break.location.line}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
