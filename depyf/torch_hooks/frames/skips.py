"""Frames that Dynamo met and left to plain Python, and why.

Torch reports them in several ways, all of which are read here:

- `add_skip_reason(reason, frame)` is called for each frame that Dynamo does not compile (see `skip_listener`).
- The structured trace has each compilation that began and gave no frame: its graph breaks, and how it failed
  (`fail_type` and `fail_reason` of `compilation_metrics`).
- A torch without the first of these lists what it met all the same (`input_codes`): what never began to compile, and
  lies in the user's program, was skipped for a reason that torch does not give.
- A function under `torch.compiler.disable` is met as a graph break in its caller: the text names it.

Of torch's own frames only those are kept that the program handed to torch.compile itself; Dynamo meets and skips
dozens of its own helpers around every graph.
"""

from __future__ import annotations

import re
import sys
from types import CodeType, FrameType
from typing import Callable, Container, Dict, Sequence, Tuple

from depyf.record import compile_ids
from depyf.record.records import FrameRecord, GraphBreak, SkippedFrame, SkipRecord
from depyf.record.vocabulary import DISABLED, GENERATOR, NO_GRAPH, NO_TENSORS, OTHER, SKIP_LIST
from depyf.torch_hooks.frames.cache_entries import met_codes
from depyf.torch_hooks.frames.compilations import CodePlace, Compilation, Compilations
from depyf.torch_hooks.frames.functions import Functions, function_named
from depyf.torch_hooks.frames.identities import Identity
from depyf.torch_hooks.frames.program_calls import ProgramCall
from depyf.torch_hooks.frames.skip_records import SOFT_FAILURES, read_attempt, read_skip
from depyf.torch_hooks.guards.module_paths import Hooked
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.code_owners import is_in_torch, is_outside_program
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION

_USUAL_IN_LIBRARIES = (NO_GRAPH, NO_TENSORS, GENERATOR, OTHER)  # not worth a file where the function is a library's
_IMPORT = "<frozen importlib"
_DISABLED_FUNCTION = re.compile(
    r"function `?<function (?P<name>\S+) at [^>]*>`? since it was wrapped with `(?P<by>[\w.]+)` \(reason: (?P<why>.*)\)"
)


class Skips:
    """Collects the skipped frames of one session; its callers hold the lock of the session."""

    def __init__(self, functions: Functions, compilations: Compilations) -> None:
        self._functions = functions
        self._compilations = compilations
        self._of_libraries: Dict[CodePlace, SkippedFrame] = {}
        self._met_before: Dict[int, CodeType] = {}  # keeps the ids valid

    def begin(self) -> None:
        """Remember what Dynamo met before the session, if skipped frames are found by that: they are not reported."""
        if private_hooks.find("skip_reasons") is None:
            self._met_before = {id(code): code for code in met_codes()}

    @property
    def records(self) -> Tuple[SkippedFrame, ...]:
        """Return the skipped frames of libraries, in the order in which they were met."""
        return tuple(self._of_libraries.values())

    def add(
        self,
        reason: str,
        code: CodeType,
        entry: bool,
        attempt: Compilation | None,
        find_call: Callable[[], ProgramCall | None] = lambda: None,
        add_call: Callable[[str, ProgramCall], None] = lambda key, call: None,
    ) -> None:
        """Record that Dynamo left `code` to Python; `attempt` is the compilation of this thread that ended last.

        `find_call` finds the call of it, which is needed only for what is recorded, and is passed to `add_call`.
        """
        if attempt is not None and (attempt.frame is not None or attempt.skip is not None or not _fits(attempt, code)):
            attempt = None
        skip = read_skip(reason, code, attempt)
        if attempt is not None:
            attempt.skip = skip
        file = code.co_filename
        if not entry and is_outside_program(file) and (file.startswith(_IMPORT) or _is_importing()):
            return  # an import inside the program: typing alone has dozens of them
        if skip.kind != SKIP_LIST and not (skip.kind in _USUAL_IN_LIBRARIES and is_outside_program(file) and not entry):
            call = find_call()
            key = self._functions.key_of(code, _identity(code, call))
            self._functions.add_skip(key, skip)
            self._functions.add_hook(key, Hooked() if attempt is None else attempt.hooked)
            if call is not None and call.code is code:
                add_call(key, call)
        elif not is_in_torch(file) or (entry and not is_in_torch(file, "_dynamo")):
            self._add_of_library(CodePlace.of(code), skip)

    def add_disabled(self, explanation: str, found: GraphBreak) -> None:
        """Record the function under torch.compiler.disable whose call is the graph break `found`, if it is one."""
        match = _DISABLED_FUNCTION.search(explanation)
        if match is None:
            return
        why = "" if match["why"] == "None" else f" (reason: {match['why']})"
        skip = SkipRecord(DISABLED, f"it is under {match['by']}{why}", hints=found.hints)
        code = None if found.location is None else function_named(match["name"], found.location.file)
        if code is None:
            self._add_of_library(CodePlace(match["name"], "", 0), skip)
        elif not is_in_torch(code.co_filename):
            self._functions.add_skip(self._functions.key_of(code), skip)

    def _add_of_library(self, place: CodePlace, skip: SkipRecord) -> None:
        self._of_libraries.setdefault(place, SkippedFrame(*place, skip))

    def finish(self, frames: Sequence[FrameRecord]) -> None:
        """Record compilations that gave no frame and no skip: they failed, or torch is too old to report skips."""
        reports_skips = private_hooks.find("skip_reasons") is not None
        for compilation in self._compilations.all:
            has_frame = compilation.frame is not None and compilation.failure is None  # else it failed after that
            if has_frame or compilation.skip is not None:
                continue
            if reports_skips and compilation.failure is None:
                continue  # it was not seen to end
            fail_type = (compilation.failure or ("", ""))[0]
            has_raised = fail_type not in SOFT_FAILURES and not private_hooks.find("suppress_errors")
            has_raised = has_raised or (bool(fail_type) and compilation.is_fullgraph)
            skip = read_attempt(compilation, reports_skips or has_raised)
            place = compilation.function
            if place is not None and skip.kind in _USUAL_IN_LIBRARIES and is_outside_program(place.file):
                if not is_in_torch(place.file):
                    self._add_of_library(place, skip)
                continue
            key = self._key_of(compilation, frames)
            if key is not None:
                compilation.skip = skip
                self._functions.add_skip(key, skip)
        if not reports_skips:
            self._add_unreported({frame.function for frame in frames})

    def _key_of(self, compilation: Compilation, frames: Sequence[FrameRecord]) -> str | None:
        """Return the key of the function; at its limit of recompiles Dynamo gives only its number."""
        if compilation.call is not None and not RESUME_FUNCTION.match(compilation.call.code.co_name):
            return self._functions.key_of(compilation.call.code, compilation.call.identity)
        if compilation.function is not None:
            return self._functions.key_at(*compilation.function)
        number = compile_ids.frame_of(compilation.compile_id)
        return next((frame.function for frame in frames if compile_ids.frame_of(frame.compile_id) == number), None)

    def _add_unreported(self, compiled: Container[str]) -> None:
        """Record functions that Dynamo met and that an older torch skipped without a report."""
        started = {one.function for one in self._compilations.all}
        for code in met_codes():
            if id(code) in self._met_before or CodePlace.of(code) in started or is_outside_program(code.co_filename):
                continue
            key = self._functions.key_of(code)
            if key not in compiled and not self._functions.get(key).skips:
                self._functions.add_skip(key, read_skip("this torch does not report why", code, None))


def _is_importing() -> bool:
    """Return whether this thread is executing an import."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False


def _identity(code: CodeType, call: ProgramCall | None) -> Identity | None:
    return call.identity if call is not None and call.code is code else None


def _fits(attempt: Compilation, code: CodeType) -> bool:
    """Return whether this was a compilation of `code`; at its limit of recompiles Dynamo names none and fails.

    A run of compiled autograd has an id as well, and events under it: it is no attempt to compile a frame.
    """
    return attempt.function == CodePlace.of(code) or (attempt.function is None and attempt.failure is not None)
