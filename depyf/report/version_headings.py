"""The facts about a version that stand above its code, as lines of a heading."""

from __future__ import annotations

from depyf.record import compile_ids
from depyf.record.records import (
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
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
from depyf.report.shortened_records import ShortPaths
from depyf.report.skip_reasons import break_lines, calls_inside, recompile_lines

_INSTALLED = {
    REPLACED: "the code below, recompiled, in place of Dynamo's bytecode",
    RELABELLED: "Dynamo's own bytecode, with the lines of that file",
    UNTOUCHED: "Dynamo's own bytecode, not linked to that file",
}


class Facts:
    """The facts of the versions in one story; what stands at an earlier version is not repeated at length."""

    def __init__(self, session: SessionRecord, paths: ShortPaths) -> None:
        self._session = session
        self._paths = paths
        self._proved: dict[tuple[str, ...], str] = {}  # assumptions -> compile id of the version that listed them
        self._broken: dict[GraphBreak, str] = {}  # graph break -> compile id of the version that described it

    def of(self, function: FunctionRecord, frame: FrameRecord) -> list[str]:
        """Return why it was compiled, its file, what runs, how far that is proved, its graphs, and what follows.

        The records have short paths.
        """
        facts = recompile_lines(frame, function)
        if compile_ids.is_of_autograd(frame.compile_id):
            facts.append("  from:   compiled autograd: the original is a backward that it traced")
        facts += self._file(frame) + self._proof(frame)
        for name in frame.graphs:
            facts += graph_lines(name, self._session.graph(name))
        for graph_break in frame.graph_breaks:
            first = self._broken.setdefault(graph_break, frame.compile_id)
            is_new = first == frame.compile_id
            facts += break_lines(graph_break, function, "" if is_new else first)
            facts += self._stories_on_the_way(graph_break, function) if is_new else []
        if frame.from_cache and frame.resumes and not frame.graph_breaks:
            facts.append("  break:  why the graph broke is not known: torch tells it only while it compiles")
        return facts + [f"  then:   goes on in {call.name}{self._resumes_at(call)}" for call in frame.resumes]

    def _stories_on_the_way(self, graph_break: GraphBreak, function: FunctionRecord) -> list[str]:
        """Name the files of the functions through which a call came to the break: they are compiled on their own."""
        found: dict[str, None] = {}
        for call in calls_inside(graph_break, function)[1:]:
            for one in self._session.stories:
                if (one.name, self._paths.of(one.file)) == (call.function, call.file):
                    found[f"{one.display_name} is compiled apart: {one.full_code_file}"] = None
        return [f"          {text}" for text in found]

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

    def _resumes_at(self, call: ResumeCall) -> str:
        if call.function is None:
            return " (never reached so far)"
        try:
            function = self._session.function(call.function)
        except KeyError:
            return " (never reached so far)"
        return f"   (resumes at {self._paths.of(function.file)}:{function.first_line})"


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
_TRIED = {AUTOTUNING: "what autotuning tried"}


def _remark(part: StageRecord) -> str:
    words = [] if part.piece is None else [f"piece {part.piece}"]
    words += [part.made_for] * bool(part.made_for)
    if part.runs or part.execution:
        words.append(_EXECUTION.get(part.execution, "runs"))
    return f"   ({', '.join(words)})" if words else ""
