"""Register the callbacks of a session with torch, and remove them again."""

from __future__ import annotations

from types import CodeType
from typing import AbstractSet, Any, Callable, List, Protocol

from depyf.problems import Problems
from depyf.torch_hooks.frames import skip_listener
from depyf.torch_hooks.frames.traced_lines import TracedLines
from depyf.torch_hooks.graphs import autotuning, custom_stages, new_code, node_sources
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.new_code import NewForward
from depyf.torch_hooks.guards import user_stacks
from depyf.torch_hooks.guards.size_reads import SizeReads
from depyf.torch_hooks.internals import hook_order, structured_trace
from depyf.torch_hooks.internals.structured_trace import TraceEvent
from depyf.torch_hooks.session import untraced_events


class Callbacks(Protocol):
    """What torch calls while a session runs."""

    problems: Problems

    @property
    def traced_lines(self) -> TracedLines: ...

    @property
    def size_reads(self) -> SizeReads: ...

    def on_bytecode(self, code: CodeType, new_code: CodeType) -> CodeType | None: ...

    def on_event(self, event: TraceEvent) -> None: ...

    def on_skip(self, reason: str, code: CodeType, entry: bool) -> None: ...

    def on_skip_error(self, error: BaseException) -> None: ...

    def on_captured(self, graph_module: Any) -> None: ...

    def on_custom_stage(self, stage: CustomStage) -> None: ...

    def on_autotuned(self, timings: Any, operation: Any, choices: Any) -> None: ...

    def on_new_forward(self, new: NewForward) -> None: ...

    def on_loaded_module(self, path: str, module: Any) -> None: ...


class Registration:
    """The hooks that are in place; a hook that this torch does not have is left out."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._detach: List[Callable[[], None]] = []
        self._move_to_place: Callable[[], None] = lambda: None
        self._of_inductor: List[Callable[[], Callable[[], None] | None]] = [
            lambda: autotuning.attach(callbacks.on_autotuned),
            lambda: new_code.attach_to_inductor(callbacks.on_loaded_module),
        ]

    def start(self, opened_by: str, read_kinds: AbstractSet[str]) -> None:
        """Put the hooks in place; `opened_by` is the module that enters the context.

        `read_kinds` are the kinds of events of torch's structured trace that are read.
        """
        callbacks, problems = self._callbacks, self._callbacks.problems
        with problems.shield("registering the bytecode hook"):
            detach, self._move_to_place = hook_order.attach(callbacks.on_bytecode, opened_by)
            self._detach.append(detach)
        with problems.shield("listening to torch's structured trace"):
            self._detach.append(structured_trace.attach(callbacks.on_event, problems, read_kinds))
        with problems.shield("listening to a torch without a structured trace"):
            self._detach.append(untraced_events.attach(callbacks.on_event, problems))
        with problems.shield("listening to the stages of custom backends"):
            self._detach.append(custom_stages.attach(callbacks.on_custom_stage))
        with problems.shield("listening to the graphs that Dynamo captures"):
            self._detach.append(node_sources.attach(callbacks.on_captured))
        with problems.shield("listening to fx"):
            stop = new_code.attach_to_fx(callbacks.on_new_forward)
            self._detach += [] if stop is None else [stop]
        with problems.shield("listening to the lines that Dynamo traces"):
            self._detach.append(callbacks.traced_lines.attach())
        with problems.shield("listening to reads of sizes"):
            self._detach.append(callbacks.size_reads.attach(problems.shield))
        with problems.shield("recording the lines that ask for guards"):
            self._detach.append(user_stacks.attach())
        with problems.shield("listening to why Dynamo skips frames"):
            self._detach.append(skip_listener.attach(callbacks.on_skip))
            self._detach.append(skip_listener.attach_to_log(callbacks.on_skip_error))

    def move_bytecode_hook(self) -> None:
        """Move the bytecode hook to its place behind those of others; called when a compilation starts."""
        with self._callbacks.problems.shield("moving the bytecode hook behind others"):
            self._move_to_place()

    def add_inductor(self) -> None:
        """Listen to Inductor once it is loaded, which it is when it is first used."""
        for attach in list(self._of_inductor):
            with self._callbacks.problems.shield("listening to Inductor"):
                detach = attach()
                if detach is not None:
                    self._detach.append(detach)
                    self._of_inductor.remove(attach)

    def stop(self) -> None:
        """Remove all hooks."""
        while self._detach:
            with self._callbacks.problems.shield("removing a hook"):
                self._detach.pop()()
