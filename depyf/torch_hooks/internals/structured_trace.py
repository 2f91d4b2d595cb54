"""Torch's structured trace as a stream of typed events, with no environment variable and no file.

Torch builds the events whenever its trace logger has a handler, and hands them to the handlers in the thread
that compiles.  A handler of ours is all it takes; taking it off again restores what was.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, Dict

from depyf.problems import Problems
from depyf.signals import is_from_signal_handler
from depyf.torch_hooks.internals import torch_facts
from depyf.torch_hooks.internals.dynamo_disabled import unseen_by_dynamo

# Keys of the metadata that are about the event, not the event itself.
_CONTEXT = frozenset(
    (
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "has_payload",
        "stack",
        "subgraph_name",
        "severity",
        "timestamp",
        "pathname",
        "thread",
    )
)


# Events that come by the hundred for every parameter of a model, and of which nothing is used.
_UNUSED = frozenset(("describe_storage", "describe_tensor", "describe_source", "chromium_event", "str"))


@dataclass(frozen=True)
class TraceEvent:
    """One event of the structured trace."""

    kind: str  # "dynamo_output_graph"; for an artifact its own name: "inductor_post_grad_graph"
    compile_id: str  # as torch prints it: "0/0", "!1/0/0"; empty outside of a compilation
    attempt: int  # Dynamo starts over under the same compile id
    data: Dict[str, Any]
    payload: str


class TraceHandler(logging.Handler):
    """Gives each event to `receive`; whatever goes wrong there is noted and does not reach torch."""

    def __init__(self, receive: Callable[[TraceEvent], None], problems: Problems) -> None:
        super().__init__()
        self._receive = receive
        self._problems = problems

    def createLock(self) -> None:
        """No lock: `receive` has its own, and two locks could meet in two orders."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """As logging's own, which insists on a lock from Python 3.13 on."""
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event = read_event(getattr(record, "metadata", None), getattr(record, "payload", None))
            if event is not None:
                self._receive(event)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            self._problems.note("reading torch's structured trace", error)


def read_event(metadata: Any, payload: Any) -> TraceEvent | None:
    """The event that torch logged, or None for a record of another kind or one that nobody reads."""
    if not isinstance(metadata, dict):
        return None
    for kind in metadata:
        if kind in _UNUSED:
            return None
        if kind not in _CONTEXT:
            break
    else:
        return None
    data = metadata[kind] if isinstance(metadata[kind], dict) else {}
    if kind == "artifact":
        kind = str(data.get("name", "artifact"))
    kind = torch_facts.EVENT_NAMES.get(str(kind), str(kind))
    text = payload if isinstance(payload, str) else ""
    return TraceEvent(kind, _compile_id(metadata), int(metadata.get("attempt") or 0), data, text)


def _compile_id(metadata: Dict[str, Any]) -> str:
    """As CompileId.__str__ of torch writes it."""
    frame = [metadata[key] for key in ("frame_id", "frame_compile_id") if metadata.get(key) is not None]
    parts = [str(number) for number in frame]
    autograd = metadata.get("compiled_autograd_id")
    if autograd is not None:
        parts.insert(0, f"!{autograd}")
    return "/".join(parts)


def attach(receive: Callable[[TraceEvent], None], problems: Problems) -> Callable[[], None]:
    """Start listening; returns the function that stops it.  Without a trace logger this does nothing."""
    logger = torch_facts.find("trace_logger")
    if logger is None:
        return lambda: None
    handler = TraceHandler(receive, problems)
    handler.handle = unseen_by_dynamo(handler.handle)  # type: ignore[method-assign]
    logger.addHandler(handler)
    before = logger.disabled
    stop_watching = _stay_switched_on()

    def detach() -> None:
        logger.removeHandler(handler)
        stop_watching()
        logger.disabled = before

    return detach


def switch_on(*args: Any) -> None:
    """Let torch's trace be heard: `logging.config` disables the loggers that exist, unless it is told not to."""
    logger = torch_facts.find("trace_logger")
    if logger is not None:
        logger.disabled = False


def _stay_switched_on() -> Callable[[], None]:
    """Switch the trace on, now and when a compilation starts; returns the function that ends that."""

    switch_on()
    callbacks = torch_facts.find("compilation_callbacks")
    register = getattr(callbacks, "register_start_callback", None)
    if register is None:
        return lambda: None
    callback = unseen_by_dynamo(switch_on)
    register(callback)

    def stop() -> None:
        if callback in callbacks.start_callbacks:  # `torch._dynamo.reset` forgets them
            callbacks.remove_start_callback(callback)

    return stop
