"""Frames that Dynamo met and left to plain Python, and why.

Torch tells of them in several ways, all of which are read here:

- `add_skip_reason(reason, frame)` is called for each frame that Dynamo does not compile (torch 2.12 and newer),
  once for each code object, since Dynamo never asks about it again.  Its reasons are general ("an error was
  suppressed"); what was wrong is in the compilation of the same thread that ended just before.
- The structured trace tells of each compilation that began and gave no frame: its graph breaks, and how it failed
  (`fail_type` and `fail_reason` of `compilation_metrics`).
- A torch without the first of these lists what it met all the same (`input_codes`): what never began to compile, and
  lies in the user's program, was skipped for a reason that nobody gives.
- A function under `torch.compiler.disable` is met as a graph break in its caller: the text names it.

Of torch's own frames only those are kept that the program handed to torch.compile itself; Dynamo meets and skips
dozens of its own helpers around every graph.
"""

from __future__ import annotations

import inspect
import re
import sys
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, Container, Dict, List, Sequence, Tuple

from depyf.record.records import SKIP_KINDS, FrameRecord, GraphBreak, SkippedFrame, SkipRecord
from depyf.text.lines import shortened
from depyf.torch_hooks.frames.cache_entries import met_codes
from depyf.torch_hooks.frames.compilations import Compilation, Compilations
from depyf.torch_hooks.frames.functions import Functions, function_named
from depyf.torch_hooks.frames.graph_breaks import failure_reason, hints_in, reason_in
from depyf.torch_hooks.internals import torch_facts
from depyf.torch_hooks.internals.code_places import is_in_torch, is_library

# A part of torch's reason -> the kind of the skip.
_KINDS = (
    ("skipfiles", "skip list"),
    ("no tensor-related objects", "no tensors"),
    ("disabled", "disabled"),
    ("No ops traced", "no graph"),
    ("no content in function call", "no graph"),
    ("empty graph", "no graph"),
)
# Kinds of which torch's own words say no more than the kind does.
_SELF_EXPLAINING = ("skip list", "no graph", "no tensors", "generator")
_OF_NO_INTEREST = ("no graph", "no tensors", "generator", "other")  # where the function is one of a library
_WHICH_LIMIT = re.compile(r"the (?P<name>\w+) cache size limit \(currently set to (?P<number>\d+)\)")
_SOFT = ("", "Unsupported", "UserError")  # failures that leave the frame to Python; others reach the program
_LIMIT = re.compile(r"recompile limit|recompile_limit reached|cache_size_limit|cache limit", re.IGNORECASE)
_DISABLED = re.compile(
    r"function `?<function (?P<name>\S+) at [^>]*>`? since it was wrapped with `(?P<by>[\w.]+)` \(reason: (?P<why>.*)\)"
)
_NAME = "add_skip_reason"


def attach(receive: Callable[[str, CodeType, bool], None]) -> Callable[[], None]:
    """Call `receive(reason, code, entry)` for each frame that Dynamo skips; returns the function that stops it.

    `entry`: whether the frame is the very function that the program handed to torch.compile.  The name that
    Dynamo calls is bound to a function of ours, which calls torch's own as well, and is bound back at the end.
    """
    original = torch_facts.find("skip_reasons")
    home = sys.modules.get(torch_facts.hook("skip_reasons").module)
    if original is None or home is None:
        return lambda: None

    def add_skip_reason(reason: str, frame: Any) -> Any:
        receive(str(reason), frame.f_code, _is_entry(frame.f_code, sys._getframe(1)))
        return original(reason, frame)

    setattr(home, _NAME, add_skip_reason)

    def detach() -> None:
        if getattr(home, _NAME, None) is add_skip_reason:
            setattr(home, _NAME, original)

    return detach


def _is_entry(code: CodeType, frame: Any) -> bool:
    """Whether the code that Dynamo was asked about is what the wrapper that torch.compile returned calls.

    The wrapper may be on top of the stack for another reason: it is there when the interpreter runs the callback of a
    weak reference meanwhile, and its helpers call functions of the standard library.
    """
    while frame is not None and frame.f_code.co_filename.endswith("convert_frame.py"):
        frame = frame.f_back
    if frame is None or str(frame.f_globals.get("__name__", "")) != "torch._dynamo.eval_frame":
        return False
    called: Any = frame.f_locals.get("fn")
    called = called.__func__ if isinstance(called, MethodType) else called
    if not isinstance(called, FunctionType):
        called = inspect.getattr_static(type(called), "__call__", None)
    return not isinstance(called, FunctionType) or called.__code__ is code


class Skips:
    """Gathers what one session learns about skipped frames; its callers hold the lock of the session."""

    def __init__(self, functions: Functions, compilations: Compilations) -> None:
        self._functions = functions
        self._compilations = compilations
        self._elsewhere: Dict[Tuple[str, str, int], SkippedFrame] = {}
        self._met_before: Dict[int, CodeType] = {}  # keeps the ids valid

    def begin(self) -> None:
        """Note what Dynamo met before the session, and has told of to nobody."""
        self._met_before = {id(code): code for code in met_codes()}

    @property
    def records(self) -> Tuple[SkippedFrame, ...]:
        """The skipped frames of libraries, in the order in which they were met."""
        return tuple(self._elsewhere.values())

    def add(self, reason: str, code: CodeType, entry: bool, attempt: Compilation | None) -> None:
        """Dynamo left `code` to Python; `attempt` is the compilation that ended before in this thread, if any."""
        if attempt is not None and (attempt.frame is not None or attempt.skip is not None or not _fits(attempt, code)):
            attempt = None
        skip = _read_skip(reason, code, attempt)
        if attempt is not None:
            attempt.skip = skip
        file = code.co_filename
        if skip.kind != "skip list" and not (skip.kind in _OF_NO_INTEREST and is_library(file) and not entry):
            self._functions.add_skip(self._functions.key_of(code), skip)
        elif not is_in_torch(file) or (entry and not is_in_torch(file, "_dynamo")):
            self._add_elsewhere(code.co_name, file, code.co_firstlineno, skip)

    def add_disabled(self, explanation: str, found: GraphBreak) -> None:
        """Note the function under torch.compiler.disable whose call is the graph break `found`, if it is one."""
        match = _DISABLED.search(explanation)
        if match is None:
            return
        why = "" if match["why"] == "None" else f" (reason: {match['why']})"
        skip = SkipRecord("disabled", f"it is under {match['by']}{why}", hints=found.hints)
        code = None if found.location is None else function_named(match["name"], found.location.file)
        if code is None:
            self._add_elsewhere(match["name"], "", 0, skip)
        elif not is_in_torch(code.co_filename):
            self._functions.add_skip(self._functions.key_of(code), skip)

    def _add_elsewhere(self, name: str, file: str, line: int, skip: SkipRecord) -> None:
        self._elsewhere.setdefault((name, file, line), SkippedFrame(name, file, line, skip))

    def finish(self, frames: Sequence[FrameRecord]) -> None:
        """Compilations that gave no frame and were not told of as skips: they failed, or torch is too old to tell."""
        told = torch_facts.find("skip_reasons") is not None
        for compilation in self._compilations.all:
            if compilation.frame is not None or compilation.skip is not None:
                continue
            if told and compilation.failure is None:
                continue  # it was not seen to end
            fail_type = (compilation.failure or ("", ""))[0]
            skip = _of_attempt(compilation, told or (fail_type not in _SOFT and not _suppresses_errors()))
            place = compilation.function
            if place is not None and skip.kind in _OF_NO_INTEREST and is_library(place[1]):
                if not is_in_torch(place[1]):
                    self._add_elsewhere(*place, skip)
                continue
            key = self._key_of(compilation, frames)
            if key is not None:
                compilation.skip = skip
                self._functions.add_skip(key, skip)
        if not told:
            self._add_silent({frame.function for frame in frames})

    def _key_of(self, compilation: Compilation, frames: Sequence[FrameRecord]) -> str | None:
        """The function that was to be compiled; at its limit of recompiles Dynamo does not say which it is."""
        if compilation.function is not None:
            return self._functions.key_at(*compilation.function)
        number = compilation.compile_id.rpartition("/")[0]
        return next((frame.function for frame in frames if frame.compile_id.rpartition("/")[0] == number), None)

    def _add_silent(self, compiled: Container[str]) -> None:
        """What an older torch skips before it begins: it is in the list of what Dynamo met, and nowhere else."""
        started = {one.function for one in self._compilations.all}
        for code in met_codes():
            place = (code.co_name, code.co_filename, code.co_firstlineno)
            if id(code) in self._met_before or place in started or is_library(code.co_filename):
                continue
            key = self._functions.key_of(code)
            if key not in compiled and not self._functions.get(key).skips:
                self._functions.add_skip(key, _read_skip("this torch does not say why", code, None))


def _suppresses_errors() -> bool:
    return bool(torch_facts.find("suppress_errors"))


def _fits(attempt: Compilation, code: CodeType) -> bool:
    """At its limit of recompiles Dynamo does not even say what it would have compiled."""
    return attempt.function in (None, (code.co_name, code.co_filename, code.co_firstlineno))


def _read_skip(reason: str, code: CodeType, attempt: Compilation | None) -> SkipRecord:
    compile_id = "" if attempt is None else attempt.compile_id
    kind = next((kind for part, kind in _KINDS if part in reason), "")
    if kind:
        return SkipRecord(kind, SKIP_KINDS[kind] if kind in _SELF_EXPLAINING else shortened(reason), compile_id)
    if attempt is not None and (attempt.failure is not None or attempt.breaks):
        return _of_attempt(attempt, raised=False)
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        hint = "Call a generator from inside of a non-generator Python function and compile that function instead."
        return SkipRecord("generator", SKIP_KINDS["generator"], hints=(hint,))
    return SkipRecord("other", shortened(reason), compile_id)


def _of_attempt(attempt: Compilation, raised: bool) -> SkipRecord:
    """Why a compilation gave no frame; `raised`: the program got an exception."""
    fail_type, fail_reason = attempt.failure or ("", "")
    breaks: List[GraphBreak] = list(attempt.breaks)
    hints = tuple(dict.fromkeys(hints_in(fail_reason) + tuple(hint for one in breaks for hint in one.hints)))
    reason = reason_in(fail_reason) or ", and then ".join(one.reason for one in breaks)
    kind = "graph break"
    if _LIMIT.search(fail_reason):
        which = _WHICH_LIMIT.search(fail_reason)
        limit = f"torch._dynamo.config.{which['name']} is {which['number']}" if which else reason
        failed = map(str, attempt.failed_guards or attempt.recompile_reasons)
        kind, reason = "recompile limit", "; ".join([limit, *failed])
    elif raised:
        kind, reason = "failed", f"{fail_type}: {failure_reason(fail_reason)}"
    elif "graph break in loop" in fail_reason or any("graph break in loop" in one.reason for one in breaks):
        kind = "graph break in a loop"
    elif breaks and not fail_type:
        kind = "graph break in a loop"  # torch 2.11 and older skip a frame without a failure for this reason alone
    elif fail_type not in _SOFT:
        kind, reason = "suppressed error", f"{fail_type}: {failure_reason(fail_reason)}"
    elif not fail_type and not breaks:
        kind, reason = "no graph", SKIP_KINDS["no graph"]
    return SkipRecord(kind, shortened(reason), attempt.compile_id, tuple(breaks), hints, attempt.failed_at)
