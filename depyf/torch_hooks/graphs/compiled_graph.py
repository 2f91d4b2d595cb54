"""One graph and its files while a session runs, before they become a frozen record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Dict, List, Tuple

from depyf.record.records import GraphRecord, KernelSource, NodeSource, StageRecord
from depyf.record.vocabulary import (
    BACKWARD_GRAPH,
    CAPTURED_GRAPH,
    FORWARD_GRAPH,
    MADE_FOR_BACKWARD,
    MADE_FOR_FORWARD,
    MADE_FOR_INFERENCE,
    NATIVE,
    NODE_BY_NODE,
    NOT_CALLED,
    NOT_KNOWN,
    POST_GRAD,
    RAN,
    RECORDED,
)
from depyf.torch_hooks.graphs.execution_marks import has_run
from depyf.torch_hooks.graphs.generated_functions import is_compiled_by_dynamo
from depyf.torch_hooks.graphs.pieces import Pieces
from depyf.torch_hooks.graphs.stages import (
    CACHE_HIT,
    CACHE_LOOKUPS,
    KERNEL_CACHE_HIT,
    MADE_BY_BACKEND,
    POST_GRAD_EVENT,
    PRE_GRAD,
    PRE_GRAD_EVENT,
    STAGE_NAMES,
)

_DIRECTIONS = {FORWARD_GRAPH: MADE_FOR_FORWARD, BACKWARD_GRAPH: MADE_FOR_BACKWARD}


@dataclass
class Link:
    """A function that carries the name and the lines of a file."""

    function: Any  # a weak reference to it
    code: CodeType  # with the name and lines of the file
    original: CodeType
    is_expected: bool = True  # whether the compiled graph leads to the function; else it only might run

    def has_run(self) -> bool | None:
        """Return whether it has run since it was linked; None where that is not known."""
        return has_run(self.code)

    def undo(self) -> None:
        """Give the function its own code back, unless Dynamo has compiled the code that it has now."""
        function = self.function()
        if function is not None and function.__code__ is self.code and not is_compiled_by_dynamo(self.code):
            function.__code__ = self.original


@dataclass
class GraphFile:
    """One file of a graph: a stage, a module of kernels, or what autotuning tried."""

    stage: str
    index: int
    name: str
    text: str  # without the first line, which reports whether it runs
    module_file: str = ""  # of a kernel: the file that Inductor loaded it from
    made_for: str = ""  # of a kernel and its graph: "forward", "backward" or "inference", where Inductor records it
    piece: int | None = None  # where the backend split the graph: which part of it this is
    runs: bool = False  # whether code of it was seen to run
    links: List[Link] = field(default_factory=list)  # the functions that carry this file's name and lines
    is_over: bool = False  # whether nothing more will be seen
    was_running: bool = False  # compiled before the session, and by all that is left of it what runs
    is_recorded: bool = False  # whether all of it is called to record a CUDA graph, and not when that is replayed
    recorded_functions: Tuple[str, ...] = ()  # of a kernel: its functions of which that is true
    is_native: bool = False  # whether it is in another language
    interpreter: str = ""  # the class that runs the graph node by node
    sources: Tuple[KernelSource, ...] = ()  # of a module of kernels, where torch's provenance tracking is on
    same_as: str = ""  # of a kernel: the file that the one loaded module is linked to
    forwards: List[CodeType] | None = None  # code of each `forward` in the text, once it was compiled
    unchecked: str = ""  # the text without line breaks, as long as it may turn out to be no Python
    broken: List[str] = field(default_factory=list)  # each line of it as it is in the text
    first_line: str = ""  # the first line of the file on disk; empty before it is written

    @property
    def linked(self) -> bool:
        """Whether a function carries the name and the lines of this file."""
        return bool(self.links)

    @property
    def execution(self) -> str:
        """What was seen of its code: a word of the vocabulary, or an empty text."""
        if self.runs:
            return RECORDED if self.is_recorded else RAN
        if self.is_native:
            return NATIVE
        if self.interpreter:
            return NODE_BY_NODE
        if self.same_as:
            return ""  # that of the other file
        if not any(link.is_expected for link in self.links):
            return NOT_KNOWN if self.was_running else ""
        return NOT_CALLED if self.is_over and not any(map(self._may_have_run, self.links)) else NOT_KNOWN

    def _may_have_run(self, link: Link) -> bool:
        """Return whether a function may have run; of one compiled before the session its own code shows it, too."""
        return link.has_run() is not False or (self.was_running and has_run(link.original) is not False)

    def observe(self) -> None:
        """Record whether code of it has run so far."""
        self.runs = self.runs or any(link.has_run() for link in self.links)

    def finish(self) -> None:
        """Observe for the last time; unlink what only might have run and did not."""
        self.observe()
        self.is_over = True
        if not self.runs:
            for link in self.links:
                if self.interpreter or not link.is_expected:
                    link.undo()
            self.links = [link for link in self.links if link.is_expected and not self.interpreter]

    @property
    def direction(self) -> str:
        """Return "forward" or "backward"; empty where that is not known."""
        made_for = _DIRECTIONS.get(self.stage, self.made_for)
        return MADE_FOR_FORWARD if made_for == MADE_FOR_INFERENCE else made_for


@dataclass
class CompiledGraph:
    """One graph, with its files in the order in which they came."""

    name: str
    compile_id: str
    is_held: bool = False  # whether its stages are written only when it is known what runs, which will be soon
    stages: List[GraphFile] = field(default_factory=list)
    kernels: List[GraphFile] = field(default_factory=list)
    candidates: List[GraphFile] = field(default_factory=list)
    unwritten: Dict[str, GraphFile] = field(default_factory=dict)  # text -> a stage that becomes a file if it runs
    newest_kernel: GraphFile | None = None  # made of the newest post-grad graph
    pieces: Pieces = field(default_factory=Pieces)
    without_frame: str = ""  # why no frame calls it
    counts: Counter[str] = field(default_factory=Counter)  # kind of trace event -> how many came
    lost: Tuple[str, ...] = ()  # stages of a graph compiled before the session that torch did not keep
    sources: Tuple[NodeSource, ...] = ()  # the user's lines that its nodes stem from

    def skipped(self) -> Tuple[str, ...]:
        """Return the stages that did not run because a cache had the result."""
        lookups = sum(self.counts[kind] for kind in CACHE_LOOKUPS)
        is_hit = self.counts[CACHE_HIT] > 0 and self.counts[PRE_GRAD_EVENT] < lookups
        is_kernel_hit = self.counts[KERNEL_CACHE_HIT] > 0 and not self.counts[POST_GRAD_EVENT]
        return (PRE_GRAD,) * is_hit + (POST_GRAD,) * is_kernel_hit

    def running(self, source: GraphFile | None = None) -> Tuple[str, ...]:
        """Return the names of the files whose code is what runs; with `source` only those that were made of it."""
        files = [file for file in self.stages + self.kernels if file.same_as or file.execution not in ("", NOT_CALLED)]
        if source is not None:
            files = [file for file in files if _is_made_of(file, source)]
        return tuple(dict.fromkeys(file.same_as or file.name for file in files))

    def is_seen(self) -> bool:
        """Return whether it was found what a call may run of it, called or not."""
        return bool(self.running()) or any(file.execution for file in self.stages + self.kernels)

    def has_eager_backward(self) -> bool:
        """Return whether it has a backward that runs as a graph, not as a kernel."""
        return not self.kernels and any(file.stage == BACKWARD_GRAPH for file in self.stages)

    def record(self) -> GraphRecord:
        """Return the graph as plain data."""
        return GraphRecord(
            self.name,
            self.compile_id,
            tuple(map(self._file_record, self.stages)),
            tuple(map(self._file_record, self.kernels)),
            self.skipped(),
            tuple(map(self._file_record, self.candidates)),
            self.without_frame,
            self.lost,
            self.sources,
        )

    def _file_record(self, file: GraphFile) -> StageRecord:
        execution = file.execution
        instead = (file.same_as,) if file.same_as else () if execution else self.running(file)
        piece = file.piece if self.pieces.count > 1 else None
        return StageRecord(
            file.stage,
            file.index,
            file.name,
            file.runs,
            file.linked,
            instead,
            file.made_for,
            piece,
            execution,
            file.sources,
            file.recorded_functions,
        )


def _is_made_of(running: GraphFile, source: GraphFile) -> bool:
    """Return whether code that runs was made of `source`, as far as piece and direction of both are known."""
    if running.stage in MADE_BY_BACKEND and source.stage in STAGE_NAMES and source.stage != CAPTURED_GRAPH:
        return False  # nor of a stage that Inductor or AOTAutograd made of a piece
    if None not in (running.piece, source.piece) and running.piece != source.piece:
        return False
    return not (running.direction and source.direction) or running.direction == source.direction
