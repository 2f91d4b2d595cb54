"""The summary as data, for scripts: what was compiled, what broke, why, at which line, which kernels came of it.

One dictionary for each process:

    process     its folder below the one given; empty for that one
    called      what the program called: the names of functions
    functions   name, file, line, versions, grades ("PROVED" ... of each version), not_compiled (reasons), story
    breaks      file, line, code, reason, hints, ways (the calls that led there, outermost first), story
    recompiles  function, version, because (version that did not fit, needs, now, file, line, code), called_from
    graphs      name, function, version, files (of each stage), runs (those whose code ran), lines (with the nodes of
                each), kernels (with the lines of each, where torch's provenance tracking was on)
    problems    what went wrong inside depyf

A place that is not known is null.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from depyf.record.records import FrameRecord, FunctionRecord, GraphRecord, Location, SessionRecord
from depyf.report.break_summary import Stories, cause_of, distinct_breaks
from depyf.report.call_chains import ways_to
from depyf.report.story_order import called_functions, story_of
from depyf.report.wrapper_notes import title_of

Data = Dict[str, Any]


def data_of(process: str, record: SessionRecord) -> Data:
    """Return the summary of one process."""
    return {
        "process": process,
        "complete": record.complete,
        "called": [function.display_name for function in called_functions(record)],
        "functions": [_function(record, function) for function in record.functions],
        "breaks": _breaks(record),
        "recompiles": [_recompile(record, frame) for frame in record.frames if frame.failed_guards],
        "graphs": _graphs(record),
        "problems": list(record.problem_lines),
        "not_offered": list(record.not_offered),
    }


def _place(location: Location | None) -> Data | None:
    if location is None:
        return None
    return {"file": location.file, "line": location.line, "code": location.code, "function": location.function}


def _function(record: SessionRecord, function: FunctionRecord) -> Data:
    frames = record.frames_of(function.key)
    return {
        "name": title_of(record, function),
        "file": function.shown_file,
        "line": function.shown_line,
        "versions": [frame.compile_id for frame in frames],
        "grades": [frame.grade for frame in frames],
        "not_compiled": [skip.reason for skip in function.skips],
        "story": story_of(record, function.key),
    }


def _breaks(record: SessionRecord) -> List[Data]:
    stories = Stories(record)
    found = []
    for same in distinct_breaks(record):
        first = same[0]
        found.append(
            {
                "at": _place(cause_of(first)),
                "reason": first.reason,
                "hints": list(first.hints),
                "ways": [[_place(call) for call in way] for way in ways_to(record, same)],
                "story": stories.best(same),
            }
        )
    return found


def _recompile(record: SessionRecord, frame: FrameRecord) -> Data:
    return {
        "function": title_of(record, record.function(frame.function)),
        "version": frame.compile_id,
        "because": [
            {"version": one.version, "needs": one.condition, "now": one.now or None, "at": _place(one.location)}
            for one in frame.failed_guards
        ],
        "called_from": _place(frame.called_from),
        "story": story_of(record, frame.function),
    }


def _graphs(record: SessionRecord) -> List[Data]:
    callers: Dict[str, FrameRecord] = {}
    for frame in record.frames:
        for name in frame.graphs:
            callers.setdefault(name, frame)
    return [_graph(record, graph, callers.get(graph.name)) for graph in record.graphs]


def _graph(record: SessionRecord, graph: GraphRecord, frame: FrameRecord | None) -> Data:
    return {
        "name": graph.name,
        "function": None if frame is None else title_of(record, record.function(frame.function)),
        "version": graph.compile_id,
        "files": [part.file for part in graph.stages + graph.kernels],
        "runs": list(graph.running_files),
        "lines": _lines(graph),
        "kernels": [
            {"file": part.file, "kernel": source.kernel, "lines": [_place(way[-1]) for way in source.calls if way]}
            for part in graph.kernels
            for source in part.sources
        ],
    }


def _lines(graph: GraphRecord) -> Sequence[Data]:
    """Return the user's lines that the captured graph stems from, each with its nodes."""
    return [{"at": _place(source.calls[-1]), "nodes": list(source.nodes)} for source in graph.sources if source.calls]
