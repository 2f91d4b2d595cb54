"""What the structured trace says about one compilation, gathered until Dynamo hands over the frame."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

from depyf.record import GraphBreak, Location
from depyf.torch_hooks.graphs import Graph
from depyf.torch_hooks.names import stable_text
from depyf.torch_hooks.trace import TraceEvent

_BREAK_AT = re.compile(r"^Graph break in user code at (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_BREAK_REASON = re.compile(r"^(?:Graph Break Reason|Reason): (?P<reason>.+)$", re.MULTILINE)
_STACK_ENTRY = re.compile(
    r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?:    (?P<code>.+)\n)?', re.MULTILINE
)
_END_OF_EXPLANATION = "\nUser code traceback:"


@dataclass
class Compilation:
    """One compilation of one frame: all that torch reports under one compile id."""

    compile_id: str
    stages: List[TraceEvent] = field(default_factory=list)  # waiting for the name of their graph
    breaks: List[GraphBreak] = field(default_factory=list)
    recompile_reasons: List[str] = field(default_factory=list)
    guard_text: str = ""
    frame: int | None = None  # index of the frame's record, once Dynamo handed over the frame
    graph: Graph | None = None
    graph_global: str = ""  # the name that the frame calls the graph by, random id and all
    timings: Dict[str, Any] = field(default_factory=dict)

    def last_attempt(self) -> List[TraceEvent]:
        """The stages of the attempt that Dynamo kept."""
        last = max((event.attempt for event in self.stages), default=0)
        return [event for event in self.stages if event.attempt == last]


class Compilations:
    """The compilations of a session by compile id; Dynamo may use an id again after a reset."""

    def __init__(self) -> None:
        self.all: List[Compilation] = []
        self._current: Dict[str, Compilation] = {}

    def of(self, compile_id: str) -> Compilation:
        """The newest compilation under that id."""
        if compile_id not in self._current:
            return self.start(compile_id)
        return self._current[compile_id]

    def start(self, compile_id: str) -> Compilation:
        """A new compilation; the one before it under the same id is over, if it got anywhere."""
        old = self._current.get(compile_id)
        if old is not None and old.frame is None and not old.stages:
            return old
        self._current[compile_id] = Compilation(compile_id)
        self.all.append(self._current[compile_id])
        return self._current[compile_id]


def read_graph_break(text: str) -> GraphBreak:
    """The graph break that torch explains in `text`."""
    text = stable_text(text)
    reason = _BREAK_REASON.search(text)
    place = _BREAK_AT.search(text)
    location = None
    if place is not None:
        location = Location(place.group("file"), int(place.group("line")))
        for entry in _STACK_ENTRY.finditer(text):
            if (entry.group("file"), int(entry.group("line"))) == (location.file, location.line):
                code = (entry.group("code") or "").strip()
                location = Location(location.file, location.line, entry.group("function"), code)
    explanation = text.split(_END_OF_EXPLANATION)[0].strip()
    first_line = explanation.splitlines()[0] if explanation else "unknown"
    return GraphBreak(reason.group("reason").strip() if reason else first_line, location, explanation)


def read_recompile_reasons(text: str) -> Tuple[str, ...]:
    """The reasons in the payload of a `recompile_reasons` event: a text or a JSON list of texts."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    reasons = value if isinstance(value, list) else [value]
    return tuple(stable_text(str(reason)) for reason in reasons)
