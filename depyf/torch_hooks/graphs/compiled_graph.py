"""One graph and its files while a session runs, before they become a frozen record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import CodeType
from typing import List, Set, Tuple

from depyf.record.records import GraphRecord, KernelSource, NodeSource, StageRecord
from depyf.record.vocabulary import (
    BACKWARD_GRAPH,
    FORWARD_GRAPH,
    MADE_FOR_BACKWARD,
    MADE_FOR_FORWARD,
    MADE_FOR_INFERENCE,
)
from depyf.torch_hooks.graphs.pieces import Pieces
from depyf.torch_hooks.graphs.stages import CACHE_HIT, CACHE_LOOKUPS, PRE_GRAD, PRE_GRAD_EVENT

_DIRECTIONS = {FORWARD_GRAPH: MADE_FOR_FORWARD, BACKWARD_GRAPH: MADE_FOR_BACKWARD}


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
    runs: bool = False
    linked: bool = False
    interpreted: bool = False  # whether it runs node by node: breakpoints in the file are not hit
    sources: Tuple[KernelSource, ...] = ()  # of a module of kernels, where torch's provenance tracking is on
    same_as: str = ""  # of a kernel: the file that the one loaded module is linked to
    forwards: List[CodeType] | None = None  # code of each `forward` in the text, once it was compiled
    running: Set[int] = field(default_factory=set)  # which of them run, as far as seen
    first_line: str = ""  # the first line of the file on disk; empty before it is written

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
        return (PRE_GRAD,) if is_hit else ()

    def running(self, source: GraphFile | None = None) -> Tuple[str, ...]:
        """Return the names of the files whose code runs; with `source` only those that were made of it."""
        files = [file for file in self.stages + self.kernels if file.runs]
        if source is not None:
            files = [file for file in files if _is_made_of(file, source)]
        return tuple(dict.fromkeys(file.same_as or file.name for file in files))

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
        instead = (file.same_as,) if file.same_as else () if file.runs else self.running(file)
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
            sources=file.sources,
        )


def _is_made_of(running: GraphFile, source: GraphFile) -> bool:
    """Return whether code that runs was made of `source`, as far as piece and direction of both are known."""
    if None not in (running.piece, source.piece) and running.piece != source.piece:
        return False
    return not (running.direction and source.direction) or running.direction == source.direction
