"""The data of the page, as JSON has it: a pure function of the record and the texts of its folder.

`overview` is what `index.html` holds: lists of functions, graphs, breaks, recompiles and skipped frames, each with the
numbers that a list shows.  `parts` are the side files, loaded when a view needs them: `function_<n>` and `graph_<n>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Sequence

from depyf.line_table.known_lines import known_lines
from depyf.line_table.table import build
from depyf.page.function_parts import BreakNumbers, failed_guard, function_part, members_of
from depyf.page.graph_parts import RowsByFile, graph_part, graph_row
from depyf.page.place_table import Data, PlaceTable
from depyf.page.shape_ledger import shape_ledger
from depyf.record.records import SKIP_KINDS, FrameRecord, FunctionRecord, GraphBreak, SessionRecord
from depyf.record.vocabulary import PROVED_GRADES
from depyf.report.break_summary import cause_of, distinct_breaks
from depyf.report.call_chains import ways_to
from depyf.report.skip_reasons import worst_skip, worth_a_line
from depyf.report.story_order import called_functions, root_of
from depyf.report.wrapper_notes import title_of

FORMAT = 1
ReadText = Callable[[str], str]  # name of a file in the folder -> its text; empty where it is missing


@dataclass(frozen=True)
class PageData:
    """What the page shows."""

    overview: Data
    parts: Dict[str, Data]  # name of a side file, without its ending -> its data


def page_data(record: SessionRecord, read_text: ReadText, page_of: ReadText = lambda folder: "") -> PageData:
    """Return the data of the page of one process; nothing but the record and `read_text` is read.

    `page_of` returns the path of the page of another process by the name of its folder; empty where it has none.
    """
    places = PlaceTable(record.import_folders, {one.file: one.label for one in record.user_files if one.label})
    rows = RowsByFile(build(record, read_text, known_lines(record)))
    roots = _roots(record)
    groups = _ranked(record, distinct_breaks(record))
    breaks = {one: number for number, same in enumerate(groups) for one in same}
    parts: Dict[str, Data] = {}
    functions: List[Data] = []
    for number, function in enumerate(roots):
        parts[f"function_{number}"] = function_part(record, function, rows, places, breaks)
        functions.append({"part": f"function_{number}", **_function_row(record, function, places, breaks)})
    graphs: List[Data] = []
    holders = {name: frame for frame in reversed(record.frames) for name in frame.graphs}
    for number, graph in enumerate(record.graphs):
        parts[f"graph_{number}"] = graph_part(graph, rows, places)
        frame = holders.get(graph.name)
        root = None if frame is None else root_of(record, frame.function)
        owner = {"function": None if root is None else root.key, "version": None if frame is None else frame.compile_id}
        graphs.append({"part": f"graph_{number}", **graph_row(graph, rows), **owner})
    overview = {
        "format": FORMAT,
        **_session(record, page_of),
        "functions": functions,
        "graphs": graphs,
        "breaks": _breaks(record, groups, breaks, places),
        "recompiles": _recompiles(record, places),
        "shapes": shape_ledger(record, rows, places),
        "library_skips": [
            {"name": one.name, "file": places.file(one.file), "line": one.first_line, "reason": one.skip.reason}
            for one in record.skipped_frames
        ],
    }
    return PageData({**overview, "files": places.files()}, parts)


# ---------------------------------------------------------------- the session


def _session(record: SessionRecord, page_of: ReadText) -> Data:
    frames = record.frames
    grades: Dict[str, int] = {}
    for frame in frames:
        grades[frame.grade] = grades.get(frame.grade, 0) + 1
    return {
        "versions": {name: getattr(record.versions, name) for name in ("depyf", "python", "torch")},
        "complete": record.complete,
        "compiling": list(record.compiling),
        "rank": record.rank,
        "world_size": record.world_size,
        "problems": list(record.problem_lines),
        "not_offered": list(record.not_offered),
        "from_log": record.from_log,
        "counts": {
            "functions": sum(function.resume_of is None for function in record.functions),
            "versions": len(frames),
            "proved": sum(frame.grade in PROVED_GRADES for frame in frames),
            "grades": grades,
            "graphs": len(record.graphs),
            "recompiles": sum(bool(frame.failed_guards or frame.recompile_reasons) for frame in frames),
            "from_cache": sum(frame.from_cache for frame in frames),
            "cached_graphs": sum(bool(graph.skipped) for graph in record.graphs),
            "recorded_elsewhere": record.recorded_elsewhere,
        },
        "processes": [
            {
                "folder": one.folder,
                "page": page_of(one.folder),
                "rank": one.rank,
                "complete": one.complete,
                "functions": one.functions,
                "versions": one.frames,
                "graphs": one.graphs,
                "breaks": one.graph_breaks,
                "problems": one.problems,
                "alike": one.alike,
            }
            for one in record.processes
        ],
        "differences": [
            {
                "kind": one.kind,
                "function": one.function,
                "place": one.place,
                "version": one.version,
                "text": one.text,
                "views": [{"ranks": list(view.ranks), "what": view.what, "why": list(view.why)} for view in one.views],
            }
            for one in record.differences
        ],
    }


def _roots(record: SessionRecord) -> List[FunctionRecord]:
    """Return the functions that have a view: what the program called first, then by how much was compiled of them."""
    called = called_functions(record)
    keys = {function.key for function in called}
    known = {function.key for function in record.functions}
    others = [one for one in record.functions if one.resume_of not in known and one.key not in keys]
    others.sort(key=lambda one: (not record.frames_of(one.key), not worth_a_line(one)))
    return [one for one in called if one.resume_of not in known] + others


def _function_row(record: SessionRecord, function: FunctionRecord, places: PlaceTable, breaks: BreakNumbers) -> Data:
    members = members_of(record, function)
    frames = [frame for member in members for frame in record.frames_of(member.key)]
    own = {breaks[one] for frame in frames for one in frame.graph_breaks}
    own |= {breaks[one] for member in members for skip in member.skips for one in skip.graph_breaks}
    skip = worst_skip(function) if function.skips else None
    return {
        "key": function.key,
        "name": title_of(record, function),
        "file": places.file(function.shown_file),
        "line": function.shown_line,
        "called": function.compiled_in_calls,
        "called_earlier": function.compiled_in_earlier_calls,
        "versions": len(record.frames_of(function.key)),
        "frames": len(frames),
        "compile_ids": [frame.compile_id for frame in frames],
        "proved": sum(frame.grade in PROVED_GRADES for frame in frames),
        "graphs": list(dict.fromkeys(name for frame in frames for name in frame.graphs)),
        "breaks": sorted(own),
        "recompiles": sum(bool(frame.failed_guards or frame.recompile_reasons) for frame in frames),
        "from_cache": sum(frame.from_cache for frame in frames),
        "skip": None
        if skip is None
        else {
            "kind": skip.kind,
            "meaning": SKIP_KINDS.get(skip.kind, skip.kind),
            "reason": skip.reason,
            "matters": worth_a_line(function),
        },
        "story": function.full_code_file,
    }


# ---------------------------------------------------------------- breaks and recompiles


def _ranked(record: SessionRecord, groups: Sequence[List[GraphBreak]]) -> List[List[GraphBreak]]:
    """Return the breaks, those first that cost most: functions left to Python, then compilations that they end."""
    skipped = _left_to_python(record)
    return sorted(groups, key=lambda same: (-sum(skipped.get(one, 0) for one in same), -len(same)))


def _left_to_python(record: SessionRecord) -> Dict[GraphBreak, int]:
    found: Dict[GraphBreak, int] = {}
    for function in record.functions:
        for one in {one for skip in function.skips for one in skip.graph_breaks}:
            found[one] = found.get(one, 0) + 1
    return found


def _breaks(
    record: SessionRecord, groups: Sequence[List[GraphBreak]], numbers: BreakNumbers, places: PlaceTable
) -> List[Data]:
    ended: List[List[FrameRecord]] = [[] for _ in groups]
    for frame in record.frames:
        for number in {numbers[one] for one in frame.graph_breaks}:
            ended[number].append(frame)
    left: List[List[FunctionRecord]] = [[] for _ in groups]
    for function in record.functions:
        for number in {numbers[one] for skip in function.skips for one in skip.graph_breaks}:
            left[number].append(function)
    return [_break(record, *one, places) for one in zip(groups, ended, left)]


def _break(
    record: SessionRecord,
    same: Sequence[GraphBreak],
    ended: Sequence[FrameRecord],
    left: Sequence[FunctionRecord],
    places: PlaceTable,
) -> Data:
    first = same[0]
    owners = [frame.function for frame in ended]
    roots = [root_of(record, key) for key in dict.fromkeys([*owners, *[one.key for one in left]])]
    return {
        "at": places.of(cause_of(first)),
        "reason": first.reason,
        "explanation": first.explanation,
        "hints": list(first.hints),
        "raised_at": places.of(first.raised_before),
        "ways": [places.all_of(way) for way in ways_to(record, same)],
        "functions": list(dict.fromkeys(root.key for root in roots if root is not None)),
        "compile_ids": [frame.compile_id for frame in ended],
        "resumes": sum(len(frame.resumes) for frame in ended),
        "left_to_python": [title_of(record, one) for one in left],
    }


def _recompiles(record: SessionRecord, places: PlaceTable) -> List[Data]:
    found = []
    for frame in record.frames:
        if frame.failed_guards or frame.recompile_reasons:
            root = root_of(record, frame.function)
            found.append(
                {
                    "function": None if root is None else root.key,
                    "title": title_of(record, record.function(frame.function)),
                    "compile_id": frame.compile_id,
                    "failed": [failed_guard(one, places) for one in frame.failed_guards],
                    "reasons": [] if frame.failed_guards else list(frame.recompile_reasons),
                    "called_from": places.of(frame.called_from),
                }
            )
    return found
