"""The callbacks of a session: torch calls them while it compiles, and they fill a `Recording`.

All state changes happen under one lock, as torch may compile in several threads. No failure of a callback reaches
torch.
"""

from __future__ import annotations

import threading
import time
from types import CodeType
from typing import Any, Callable

from depyf.record.records import SessionRecord
from depyf.torch_hooks.frames.traced_lines import TracedLines
from depyf.torch_hooks.graphs import autotuning
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.new_code import NewForward
from depyf.torch_hooks.graphs.stages import AUTOGRAD_EVENT, GRAPH_EVENTS
from depyf.torch_hooks.guards.size_reads import SizeReads
from depyf.torch_hooks.internals import structured_trace
from depyf.torch_hooks.internals.structured_trace import START_EVENT, TraceEvent
from depyf.torch_hooks.session.recording import LINKING_EVENTS, Recording
from depyf.torch_hooks.session.registration import Registration


class Capture:
    """The running part of a session; a forked child starts a recording of its own, in a folder of its own."""

    def __init__(self, recording: Recording) -> None:
        self._registration = Registration(self)
        self.when_linked: Callable[[], None] | None = None  # called when code that may run next was linked to its file
        self._begin(recording)

    def _begin(self, recording: Recording) -> None:
        self.recording = recording
        self.problems = recording.problems
        self._lock = threading.RLock()
        self._is_over = False

    @property
    def traced_lines(self) -> TracedLines:
        """The lines that Dynamo traces."""
        return self.recording.traced_lines

    @property
    def size_reads(self) -> SizeReads:
        """The lines that read sizes while Dynamo traces."""
        return self.recording.size_reads

    def start(self, opened_by: str = "") -> None:
        """Put the hooks in place; `opened_by` is the module that enters the context."""
        self.recording.begin()
        self._registration.start(opened_by, self.recording.read_kinds)

    def stop(self) -> None:
        """Remove all hooks."""
        self._registration.stop()

    def begin_in_child(self) -> None:
        """Start anew in a forked child: the recording, the files and the locks are the parent's."""
        self._begin(self.recording.for_child())

    def end(self) -> None:
        """Wait for callbacks in other threads, and record nothing more."""
        with self._lock:
            self._is_over = True

    # -- callbacks

    def on_bytecode(self, code: CodeType, new_code: CodeType) -> CodeType | None:
        """Write the frame `new_code` that Dynamo made of `code`; return the code to run, None for `new_code` itself."""
        started = time.perf_counter()
        with self.problems.shield("handling a frame that Dynamo compiled"), self._lock:
            if self._is_over:
                return None
            structured_trace.switch_on()
            compile_id, to_run = self.recording.add_frame(code, new_code)
            self.recording.seconds[f"{compile_id} hook"] = time.perf_counter() - started
            return to_run
        return None

    def on_event(self, event: TraceEvent) -> None:
        """Record an event of the structured trace."""
        if not event.compile_id and event.kind not in GRAPH_EVENTS:
            return
        with self._lock:
            if self._is_over:
                return
            if event.kind == START_EVENT:
                self._registration.move_bytecode_hook()
            elif event.kind in GRAPH_EVENTS:
                self._registration.add_inductor()
            if not event.compile_id or event.kind == AUTOGRAD_EVENT:
                self.recording.add_event_of_no_frame(event)
            else:
                self.recording.add_event(event)
        if self.when_linked is not None and event.kind in LINKING_EVENTS:
            with self.problems.shield("carrying breakpoints over"):
                self.when_linked()

    def so_far(self) -> SessionRecord:
        """Return what is recorded so far, with all files of it written."""
        with self._lock:
            self.recording.write_held()
            return self.recording.record()

    def on_skip(self, reason: str, code: CodeType, entry: bool) -> None:
        """Record a frame that Dynamo left to plain Python; `entry`: the program handed it to torch.compile itself."""
        with self.problems.shield("recording a frame that Dynamo skipped"), self._lock:
            if not self._is_over:
                self.recording.add_skip(reason, code, entry)

    def on_skip_error(self, error: BaseException) -> None:
        """Record the exception by which Dynamo leaves the frame that it compiles now to plain Python."""
        with self.problems.shield("recording why Dynamo skips a frame"), self._lock:
            if not self._is_over:
                self.recording.add_skip_error(error)

    def on_autotuned(self, timings: Any, operation: Any, choices: Any) -> None:
        """Record the choices that Inductor has timed for an operation of the graph that it compiles now."""
        with self.problems.shield("listing what autotuning tried"), self._lock:
            if not self._is_over:
                self.recording.add_autotuned(autotuning.read(timings, operation, choices))

    def on_captured(self, graph_module: Any) -> None:
        """Record where the nodes of a graph stem from that Dynamo has captured."""
        with self.problems.shield("reading the lines that a graph stems from"), self._lock:
            if not self._is_over:
                self.recording.add_captured(graph_module)

    def on_new_forward(self, new: NewForward) -> None:
        """Record the forward of a graph module, to link it before it runs."""
        with self.problems.shield("linking a graph module"), self._lock:
            if not self._is_over:
                self.recording.add_forward(new)

    def on_loaded_module(self, path: str, module: Any) -> None:
        """Record a module of kernels, to link it before it runs."""
        with self.problems.shield("linking a module of kernels"), self._lock:
            if not self._is_over:
                self.recording.add_loaded_module(path, module)

    def on_custom_stage(self, stage: CustomStage) -> None:
        """Record a stage that a custom backend announces, of the graph that it compiles now."""
        with self.problems.shield("writing a stage of a custom backend"), self._lock:
            if not self._is_over:
                self.recording.add_custom_stage(stage)
