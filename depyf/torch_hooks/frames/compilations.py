"""What torch reports about one compilation, collected until Dynamo hands over the frame."""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Dict, List, NamedTuple, Tuple

from depyf.record.records import FailedGuard, GraphBreak, Location, NodeSource, SkipRecord, Specialization
from depyf.torch_hooks.frames.program_calls import ProgramCall
from depyf.torch_hooks.graphs.autotuning import Autotuned
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph
from depyf.torch_hooks.graphs.graph_files import GraphEvent
from depyf.torch_hooks.graphs.new_code import NewForward
from depyf.torch_hooks.guards.compiled_values import CompiledValues
from depyf.torch_hooks.guards.failed_guards import Failure
from depyf.torch_hooks.guards.module_paths import Hooked
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.code_owners import is_in_torch
from depyf.torch_hooks.internals.structured_trace import TraceEvent


class CodePlace(NamedTuple):
    """Where a function is defined: enough to recognise it without its code object."""

    name: str
    file: str
    first_line: int

    @staticmethod
    def of(code: CodeType) -> CodePlace:
        """Return the place of a code object."""
        return CodePlace(code.co_name, code.co_filename, code.co_firstlineno)


@dataclass
class Compilation:
    """One compilation of one frame: all that torch reports under one compile id."""

    compile_id: str
    function: CodePlace | None = None  # what is compiled
    call: ProgramCall | None = None  # ... and the call of the program's that led to it
    waiting: List[Tuple[int, GraphEvent]] = field(default_factory=list)  # (attempt, event): the graph has no name yet
    breaks: List[GraphBreak] = field(default_factory=list)
    recompile_reasons: List[str] = field(default_factory=list)
    called_from: Location | None = None  # the program's line whose call compiled it again
    failures: Tuple[Failure, ...] = ()  # guards of earlier versions that failed
    unmet: Tuple[FailedGuard, ...] = ()  # the same as records, where there is no frame to hold them
    values: CompiledValues = field(default_factory=CompiledValues)  # what the variables of the frame held
    hooked: Hooked = field(default_factory=Hooked)  # the modules that what is compiled is a hook of
    frame: int | None = None  # index of the frame's record, once Dynamo handed over the frame
    sources: Tuple[NodeSource, ...] = ()  # the user's lines that the nodes of the captured graph stem from
    graph: CompiledGraph | None = None
    graph_global: str = ""  # the name that the frame calls the graph by, with its random id
    failure: Tuple[str, str] | None = None  # the exception that ended it: its type, and its text without the stack
    is_fullgraph: bool = False  # whether the program gets the exception of a graph break, too
    failed_at: Location | None = None  # the user's line that Dynamo was at then
    is_interrupted: bool = False  # the exception is one that ends programs, such as KeyboardInterrupt
    failed_calls: Tuple[Location, ...] = ()  # the calls that led to that line, outermost first
    skip_reason: str = ""  # what Dynamo's log states where it gives up without a failure
    skip: SkipRecord | None = None  # why there is no frame, once that is known
    timings: Dict[str, Any] = field(default_factory=dict)
    specialized: List[Tuple[int, Specialization]] = field(default_factory=list)  # with the attempt
    autotuned: List[Autotuned] = field(default_factory=list)
    forwards: List[NewForward] = field(default_factory=list)  # of graph modules, generated meanwhile

    def hold(self, event: GraphEvent) -> None:
        """Keep an event until the graph has a name; one without an attempt belongs to the newest."""
        self.waiting.append((event.attempt if isinstance(event, TraceEvent) else self._newest_attempt(), event))

    def take_waiting(self) -> List[GraphEvent]:
        """Return the events of the attempt that Dynamo kept, and remove all that wait."""
        newest = self._newest_attempt()
        events = [event for attempt, event in self.waiting if attempt == newest]
        self.waiting.clear()
        return events

    def take_forwards(self) -> List[NewForward]:
        """Return the forwards that were generated meanwhile, and remove them."""
        forwards, self.forwards = self.forwards, []
        return forwards

    def kept_specializations(self) -> Tuple[Specialization, ...]:
        """Return those of the newest attempt, each symbol once."""
        newest = max([self._newest_attempt(), *[attempt for attempt, _ in self.specialized]])
        return tuple({one.symbol: one for attempt, one in self.specialized if attempt == newest}.values())

    def _newest_attempt(self) -> int:
        return max((attempt for attempt, _ in self.waiting), default=0)


class Compilations:
    """The compilations of a session by compile id; Dynamo may use an id again after a reset."""

    def __init__(self) -> None:
        self.all: List[Compilation] = []
        self._current: Dict[str, Compilation] = {}

    def of(self, compile_id: str, captured: bool = False) -> Compilation:
        """Return the newest compilation under that id.

        `captured`: Dynamo has just captured a graph.  Where that id has its frame already this is another
        compilation: torch.export does not announce its own, and takes an id that was used before.
        """
        current = self._current.get(compile_id)
        if current is None or (captured and current.frame is not None):
            return self.start(compile_id)
        return current

    def known(self, compile_id: str) -> Compilation | None:
        """Return the newest compilation under that id, if there is one."""
        return self._current.get(compile_id)

    def start(self, compile_id: str) -> Compilation:
        """Return a new compilation; one under the same id that has recorded nothing yet is used again."""
        old = self._current.get(compile_id)
        if old is not None and old.frame is None and not old.waiting and old.skip is None and old.failure is None:
            return old
        self._current[compile_id] = Compilation(compile_id)
        self.all.append(self._current[compile_id])
        return self._current[compile_id]


def started_function(start: Dict[str, Any]) -> CodePlace | None:
    """Return the function in the data of a `dynamo_start` event: the end of its stack."""
    stack = start.get("stack")
    last = stack[-1] if isinstance(stack, list) and stack else None
    if not isinstance(last, dict) or not {"name", "line", "filename"} <= set(last):
        return None
    files = private_hooks.find("trace_file_names") or {}
    file = next((name for name, number in files.items() if last["filename"] in (name, number)), None)
    file = last["filename"] if file is None and isinstance(last["filename"], str) else file
    return None if file is None else CodePlace(str(last["name"]), str(file), int(last["line"]))


def place_of_failure(metrics: Dict[str, Any]) -> Location | None:
    """Return the user's line in the data of `compilation_metrics` at which the compilation failed, if there is one."""
    file, line = metrics.get("fail_user_frame_filename"), metrics.get("fail_user_frame_lineno")
    if not isinstance(file, str) or not isinstance(line, int):
        _, _, stack = str(metrics.get("fail_reason") or "").partition(_USER_STACK)
        calls = _CALL.findall(stack)
        if not calls:
            return None
        file, line = calls[-1][0], int(calls[-1][1])
    return Location(file, line, code=linecache.getline(file, line).strip())


def place_in_exception(error: BaseException) -> Location | None:
    """Return the user's line at which Dynamo raised an exception of its own, if it holds one."""
    stack: Any = getattr(error, "real_stack", None)
    if not stack:
        return None
    innermost = stack[-1]
    return Location(innermost.filename, innermost.lineno, innermost.name, str(innermost.line or "").strip())


_USER_STACK = "\nUser stack:"  # in the text of an exception: of a size that was to be dynamic and cannot be
_CALL = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)


def interruption() -> str:
    """Return the name of the exception that passes now, if it is one that ends programs: torch reports no failure."""
    passing = sys.exc_info()[1]
    return type(passing).__name__ if passing is not None and not isinstance(passing, Exception) else ""


def wants_fullgraph() -> bool:
    """Return whether the compilation that fails now is one for `fullgraph=True`: read from Dynamo's own frames."""
    caller: Any = sys._getframe(1)
    while caller is not None:
        if caller.f_globals.get("__name__") == private_hooks.hook("compile_frame").module:
            found = caller.f_locals.get("one_graph")
            if isinstance(found, bool):
                return found
        caller = caller.f_back
    return False


def place_in_backend() -> Location | None:
    """Return the line of the program at which a backend raised the exception that passes now, if one did."""
    traceback = getattr(getattr(sys.exc_info()[1], "inner_exception", None), "__traceback__", None)
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_in_torch(code.co_filename):
            found = Location(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return None if found is None else replace(found, code=linecache.getline(found.file, found.line).strip())


def failure_in(metrics: Dict[str, Any]) -> Tuple[str, str] | None:
    """Return the type and the text of the exception in the data of `compilation_metrics`; None without a failure."""
    fail_type, reason = metrics.get("fail_type"), metrics.get("fail_reason")
    if not fail_type:
        return None
    old = _OLD_TYPE.match(str(fail_type))
    return old["name"] if old else str(fail_type), str(reason or "")


_OLD_TYPE = re.compile(r"<class '(?:[\w.]+\.)?(?P<name>\w+)'>$")  # torch 2.4
