"""The summary that ends a session: a few lines on the terminal."""

from __future__ import annotations

import os
from collections import Counter
from typing import Callable, Dict, List, Mapping, Tuple

from depyf.record.records import GraphBreak, SessionRecord
from depyf.record.vocabulary import PROVED_GRADES
from depyf.report.skip_reasons import has_library_path, one_line, worth_a_line

_MOST_BREAKS = 5
_MOST_SKIPS = 5
_MOST_RECOMPILED = 3
_MOST_KEPT = 3


def render(
    record: SessionRecord, folder: str, is_there: Callable[[str], bool] = bool, kept: Mapping[str, str] = {}
) -> str:
    """Return a short summary for a terminal: what was compiled, where the graphs broke, what to open first.

    `is_there` returns whether a file can be opened: somebody may have removed the folder meanwhile. `kept` maps the
    names of files in the folder that are not depyf's to the names that depyf's own took instead.
    """
    manifest = kept.get("manifest.json", "manifest.json")
    proved = sum(frame.grade in PROVED_GRADES for frame in record.frames)
    breaks = distinct_breaks(record)
    cached = sum(frame.from_cache for frame in record.frames)
    frames, graphs = _count(len(record.frames), "frame"), _count(len(record.graphs), "graph")
    proofs = f" ({proved} proved{_before(cached)})" if record.frames else ""
    what = f"{frames}{proofs}, {graphs}, {_count(len(breaks), 'graph break')}"
    lines = [f"depyf: {what} in {folder}"]
    if not record.complete:
        doing = f"while compiling {', '.join(record.compiling)}" if record.compiling else "not while compiling"
        lines.append(f"  not complete: the process was killed, or still ran, {doing}")
    if record.rank:
        return "\n".join(lines)  # rank 0 prints the rest once for all
    for graph_break in breaks[:_MOST_BREAKS]:
        lines.append(f"  graph break at {_place(graph_break)}{_reached_from(graph_break)}: {graph_break.reason}")
    if len(breaks) > _MOST_BREAKS:
        lines.append(f"  ... and {len(breaks) - _MOST_BREAKS} more, see {manifest}")
    lines += _recompiled(record)
    lines += _not_compiled(record, manifest)
    if not record.frames and not record.graphs and not breaks and not record.skipped:
        lines.append("  nothing was compiled: is a compiled function called inside the context? (torch.export compiles")
        lines.append("  nothing unless strict=True)")
    if record.recorded_elsewhere:
        versions = _count(record.recorded_elsewhere, "version")
        lines.append(f"  {versions} compiled earlier: in the folders of the contexts before this one")
    paths = (os.path.join(folder, name) for name in _worth_opening(record))
    first = next((path for path in paths if is_there(path)), None)
    if first is not None:
        lines.append(f"  open first: {first}")
    lines += _kept(kept)
    if record.lost_files is not None:
        lines.append(f"  {record.lost_files}")
    if record.problems:
        lines.append(f"  {_count(len(record.problems), 'problem')} inside depyf, see the log")
    return "\n".join(lines)


def _kept(kept: Mapping[str, str]) -> List[str]:
    """Return one line on the files that are not depyf's and stay."""
    if not kept:
        return []
    shown = [f"{name} (depyf's is {own})" for name, own in sorted(kept.items())[:_MOST_KEPT]]
    rest = f" and {len(kept) - _MOST_KEPT} more" if len(kept) > _MOST_KEPT else ""
    return [f"  not depyf's, and left as they are: {', '.join(shown)}{rest}"]


def _before(number: int) -> str:
    return f", {number} compiled before" if number else ""


def _recompiled(record: SessionRecord) -> List[str]:
    """Return the functions that were compiled most often, each with the last reason."""
    lines: List[str] = []
    frames = {function.key: record.frames_of(function.key) for function in record.functions}
    for function in sorted(record.functions, key=lambda one: -len(frames[one.key])):
        reasons = [str(failed) for frame in frames[function.key] for failed in frame.failed_guards[:1]]
        if reasons and len(lines) < _MOST_RECOMPILED:
            place = f"{function.name} ({function.file}:{function.first_line})"
            count = len(frames[function.key])
            often = f"compiled {count} times" if count > 1 else "compiled again"  # before that, elsewhere
            lines.append(f"  {often}: {place}; {'the last time ' if count > 1 else ''}{reasons[-1]}")
    return lines


def _not_compiled(record: SessionRecord, manifest: str) -> List[str]:
    """Return the functions that were left to Python: those that matter by name, the others as a number."""
    own = [one for one in record.skipped if not has_library_path(one.file)]
    named = [one for one in own if worth_a_line(one) or not record.frames]
    compiled = {frame.function for frame in record.frames}
    lines = [
        f"  not {'always ' if function.key in compiled else ''}compiled: {one_line(function)}"
        for function in named[:_MOST_SKIPS]
    ]
    rest = len(record.skipped) - len(lines)
    if rest:
        which = "no graph, disabled, of a library ..."
        what = f"{_count(rest, 'function')} {'more ' if lines else ''}left to Python ({which})"
        lines.append(f"  {what}: why is in {manifest}")
    return lines


def _worth_opening(record: SessionRecord) -> List[str]:
    """Return the stories, best first: functions with a graph, of the user's, compiled most, resume functions included.

    Then come those that have no graph, those that were not compiled at all, and single frames.
    """
    wholes = {function.key: function.resume_of for function in record.functions}
    frames: Counter[str] = Counter()  # in the order in which Dynamo came to the functions
    graphs: Counter[str] = Counter()
    for frame in record.frames:
        whole, passed = frame.function, {frame.function}
        while wholes.get(whole) is not None and wholes[whole] not in passed:
            whole = str(wholes[whole])
            passed.add(whole)
        frames[whole] += 1
        graphs[whole] += len(frame.graphs)
    place = {key: number for number, key in enumerate(frames)}
    stories = sorted(record.stories, key=lambda one: place.get(one.key, len(place)))
    stories.sort(
        key=lambda one: (not graphs[one.key], not frames[one.key], has_library_path(one.file), -frames[one.key])
    )
    return [str(one.full_code_file) for one in stories] + [frame.file for frame in record.frames[:1]]


def distinct_breaks(record: SessionRecord) -> List[GraphBreak]:
    """Return each graph break once: the frames after a break, and recompilations, report it again."""
    every = [graph_break for frame in record.frames for graph_break in frame.graph_breaks]
    every.extend(record.lone_breaks)
    found: Dict[Tuple[str, str], GraphBreak] = {}
    for one in every:
        found.setdefault((_place(one), one.causes[0]), one)
    return list(found.values())


def _place(graph_break: GraphBreak) -> str:
    if graph_break.location is None:
        return "an unknown place"
    return f"{graph_break.location.file}:{graph_break.location.line}"


def _reached_from(graph_break: GraphBreak) -> str:
    """Return the user's line that led to a break inside a library, where the stack has it."""
    if graph_break.location is None or not has_library_path(graph_break.location.file):
        return ""
    for call in reversed(graph_break.stack):
        if not has_library_path(call.file) and not os.path.basename(call.file).startswith("__transformed_code_"):
            return f" (reached from {call.file}:{call.line})"
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
