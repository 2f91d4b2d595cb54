"""The facts about a version that stand above its code, as lines of a heading."""

from __future__ import annotations

from typing import Iterator, Sequence

from depyf.record import compile_ids
from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    Location,
    ResumeCall,
    SessionRecord,
    StageRecord,
)
from depyf.record.vocabulary import (
    AUTOTUNING,
    DISASSEMBLY,
    NATIVE,
    NODE_BY_NODE,
    NOT_CALLED,
    NOT_KNOWN,
    PROVED,
    PROVED_UNDER,
    RECORDED,
    RELABELLED,
    REPLACED,
    UNTOUCHED,
)
from depyf.report.break_paths import Owners, calls_inside
from depyf.report.shortened_records import ShortPaths
from depyf.report.skip_reasons import break_lines, recompile_lines, repeated_break, skip_lines

_INSTALLED = {
    REPLACED: "that file, in place of Dynamo's bytecode; the code below is a copy of it",
    RELABELLED: "Dynamo's own bytecode, with the lines of that file",
    UNTOUCHED: "Dynamo's own bytecode, not linked to that file",
}


class Facts:
    """The facts of the versions in one story; what stands at an earlier version is not repeated at length."""

    def __init__(self, session: SessionRecord, paths: ShortPaths, owners: Owners) -> None:
        self._session = session
        self._paths = paths
        self._owners = owners  # of calls with short paths
        self._proved: dict[tuple[str, ...], str] = {}  # assumptions -> compile id of the version that listed them
        self._broken: dict[tuple[str, ...], str] = {}  # lines on a break -> compile id of the version that has them

    def of(self, function: FunctionRecord, frame: FrameRecord) -> list[str]:
        """Return why it was compiled, its file, what runs, how far that is proved, its graphs, and what follows.

        The records have short paths.
        """
        facts = recompile_lines(frame, function)
        if compile_ids.is_of_autograd(frame.compile_id):
            facts.append("  from:   compiled autograd: the original is a backward that it traced")
        facts += [f"  self:   {frame.module}, when it was compiled"] if frame.module else []
        facts += self._file(frame) + self._proof(frame)
        for name in frame.graphs:
            facts += graph_lines(name, self._session.graph(name))
        for graph_break in frame.graph_breaks:
            lines = break_lines(graph_break, function) + self._called_there(graph_break, function, frame)
            first = self._broken.setdefault(tuple(lines), frame.compile_id)
            lines = lines if first == frame.compile_id else repeated_break(graph_break, first)
            facts += lines if lines[0] not in facts else []
        if frame.from_cache and frame.resumes and not frame.graph_breaks:
            facts.append("  break:  why the graph broke is not known: torch tells it only while it compiles")
        return facts + [f"  then:   goes on in {call.name}{self._left_after(call)}" for call in frame.resumes]

    def _called_there(self, graph_break: GraphBreak, function: FunctionRecord, frame: FrameRecord) -> list[str]:
        """Return what became of the functions that a broken call runs: it is made as it is, and they on their own."""
        way = calls_inside(graph_break, function)
        fates = self._owners.fates(self._below(way, graph_break), function.key) if way else ()
        if not fates:
            return ["          what broke there runs as it is, in Python, before what is left"] if frame.resumes else []
        start = f"          {way[0].file}:{way[0].line} runs as it is, and of what it calls"
        return [start, *[f"            {fate}" for fate in fates]]

    def _below(self, way: Sequence[Location], graph_break: GraphBreak) -> Iterator[FunctionRecord]:
        """Yield the functions below the first call of a way."""
        yield from self._owners.on(way[1:])
        for call in way[:1]:
            yield from self._owners.called_at(call)
        if graph_break.raised_before is not None:
            yield from self._owners.on([graph_break.raised_before])

    def of_skips(self, function: FunctionRecord) -> list[str]:
        """Return why a function, with short paths, is left to Python, and what became of those that it calls."""
        lines = [line for skip in function.skips for line in skip_lines(skip, function)]
        breaks = [one for skip in function.skips for one in skip.graph_breaks]
        below = [one for way in breaks for one in self._below(calls_inside(way, function), way)]
        fates = self._owners.fates([*below, *self._owners.called_in(function)], function.key)
        return lines + (["  Of what it calls", *[f"    {fate}" for fate in fates]] if fates else [])

    def _file(self, frame: FrameRecord) -> list[str]:
        """Return the file and what runs; `inspect` writes no files."""
        runs = f"  runs:   {_INSTALLED.get(frame.installed, frame.installed)}"
        if frame.linked_to:
            runs = f"  runs:   the code of {frame.linked_to}, linked there earlier"
        if frame.from_cache and not self._session.files:
            return [runs if frame.linked_to else "  runs:   Dynamo's own bytecode"]
        return [f"  file:   {frame.file}", runs]

    def _proof(self, frame: FrameRecord) -> list[str]:
        if frame.grade == PROVED:
            return ["  proof:  PROVED: the code below does exactly what Dynamo's bytecode does"]
        if frame.grade == PROVED_UNDER:
            first = self._proved.setdefault(frame.assumptions, frame.compile_id)
            if first != frame.compile_id:
                return [f"  proof:  PROVED_UNDER the same assumptions as {first}"]
            facts = ["  proof:  PROVED_UNDER: the code below does what Dynamo's bytecode does, assuming that"]
            return facts + [f"            - {assumption}" for assumption in frame.assumptions]
        if frame.rung == DISASSEMBLY:
            facts = [f"  proof:  {frame.grade}: no source was found that does the same; below is the bytecode"]
        else:
            facts = [f"  proof:  {frame.grade}: the code below may differ from what runs"]
        return facts + [f"            {line}" for line in frame.divergence.splitlines()]

    def _left_after(self, call: ResumeCall) -> str:
        if call.function is None:
            return " (never reached so far)"
        try:
            function = self._session.function(call.function)
        except KeyError:
            return " (never reached so far)"
        return f"   (what is left after {self._paths.of(function.file)}:{function.first_line})"


def graph_lines(name: str, graph: GraphRecord | None) -> list[str]:
    """Return the files of a graph, those that run first."""
    if graph is None:
        return [f"  graph:  {name} (no file)"]
    parts = sorted(graph.stages + graph.kernels, key=lambda part: (not part.runs, not part.execution))
    files = [part.file + _remark(part) for part in parts]
    files += [f"{part.file}   ({_TRIED.get(part.stage, 'autotuning tried it')})" for part in graph.candidates]
    files += [f"(no {stage}: torch had the result in its cache, the passes did not run)" for stage in graph.skipped]
    files += [f"(torch kept no text of {', '.join(graph.lost)})"] if graph.lost else []
    if not files:
        return [f"  graph:  {name} (no file)"]
    margin = " " * len(f"  graph:  {name} -> ")
    return [f"  graph:  {name} -> {files[0]}"] + [margin + file for file in files[1:]]


# What was seen of the code of a file, for its reader; a record of schema 1 has only whether it runs.
_EXECUTION = {
    RECORDED: "runs while a CUDA graph is recorded",
    NOT_CALLED: "not called so far",
    NODE_BY_NODE: "run node by node",
    NATIVE: "runs without Python",
    NOT_KNOWN: "what a call runs",
}
_PASSES = {"forward": "forward pass", "backward": "backward pass"}
_TRIED = {AUTOTUNING: "what autotuning tried"}


def _remark(part: StageRecord) -> str:
    words = [] if part.piece is None else [f"piece {part.piece}"]
    words += [_PASSES.get(part.made_for, part.made_for)] * bool(part.made_for)
    if part.runs or part.execution:
        words.append(_EXECUTION.get(part.execution, "runs"))
    return f"   ({', '.join(words)})" if words else ""
