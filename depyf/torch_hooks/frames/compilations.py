"""What the structured trace says about one compilation, gathered until Dynamo hands over the frame."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

from depyf.record.records import FailedGuard, GraphBreak, Location, SkipRecord
from depyf.torch_hooks.graphs.autotuning import Autotuned
from depyf.torch_hooks.graphs.stages import Graph
from depyf.torch_hooks.internals import torch_facts
from depyf.torch_hooks.internals.structured_trace import TraceEvent


@dataclass
class Compilation:
    """One compilation of one frame: all that torch reports under one compile id."""

    compile_id: str
    function: Tuple[str, str, int] | None = None  # name, file and first line of what is compiled
    stages: List[TraceEvent] = field(default_factory=list)  # waiting for the name of their graph
    breaks: List[GraphBreak] = field(default_factory=list)
    recompile_reasons: List[str] = field(default_factory=list)
    failed_guards: Tuple[FailedGuard, ...] = ()
    guard_text: str = ""
    frame: int | None = None  # index of the frame's record, once Dynamo handed over the frame
    graph: Graph | None = None
    graph_global: str = ""  # the name that the frame calls the graph by, random id and all
    failure: Tuple[str, str] | None = None  # the exception that ended it: its type, and its text without the stack
    failed_at: Location | None = None  # the user's line that Dynamo was at then
    skip: SkipRecord | None = None  # why there is no frame, once that is known
    timings: Dict[str, Any] = field(default_factory=dict)
    autotuned: List[Autotuned] = field(default_factory=list)

    def last_attempt(self) -> List[TraceEvent]:
        """The stages of the attempt that Dynamo kept."""
        last = max((event.attempt for event in self.stages), default=0)
        return [event for event in self.stages if event.attempt == last]


class Compilations:
    """The compilations of a session by compile id; Dynamo may use an id again after a reset."""

    def __init__(self) -> None:
        self.all: List[Compilation] = []
        self._current: Dict[str, Compilation] = {}

    def of(self, compile_id: str, captured: bool = False) -> Compilation:
        """The newest compilation under that id.

        `captured`: Dynamo has just captured a graph.  Where that id has its frame already this is another
        compilation: torch.export does not announce its own, and takes an id that was used before.
        """
        current = self._current.get(compile_id)
        if current is None or (captured and current.frame is not None):
            return self.start(compile_id)
        return current

    def start(self, compile_id: str) -> Compilation:
        """A new compilation; the one before it under the same id is over, if it got anywhere."""
        old = self._current.get(compile_id)
        if old is not None and old.frame is None and not old.stages and old.skip is None and old.failure is None:
            return old
        self._current[compile_id] = Compilation(compile_id)
        self.all.append(self._current[compile_id])
        return self._current[compile_id]


def compiled_function(start: Dict[str, Any]) -> Tuple[str, str, int] | None:
    """Name, file and first line in the data of a `dynamo_start` event: the end of its stack."""
    stack = start.get("stack")
    last = stack[-1] if isinstance(stack, list) and stack else None
    if not isinstance(last, dict) or not {"name", "line", "filename"} <= set(last):
        return None
    files = torch_facts.find("trace_file_names") or {}
    file = next((name for name, number in files.items() if number == last["filename"]), None)
    return None if file is None else (str(last["name"]), str(file), int(last["line"]))


def place_of_failure(metrics: Dict[str, Any]) -> Location | None:
    """The user's line at which the compilation that `compilation_metrics` tells of failed, where torch knows it."""
    file, line = metrics.get("fail_user_frame_filename"), metrics.get("fail_user_frame_lineno")
    if not isinstance(file, str) or not isinstance(line, int):
        return None
    return Location(file, line, code=linecache.getline(file, line).strip())


def failure_in(metrics: Dict[str, Any]) -> Tuple[str, str] | None:
    """How the compilation that `compilation_metrics` tells of failed; None when it did not."""
    fail_type, reason = metrics.get("fail_type"), metrics.get("fail_reason")
    return (str(fail_type), str(reason or "")) if fail_type else None
