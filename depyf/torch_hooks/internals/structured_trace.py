"""Torch's structured trace as a stream of typed events, with no environment variable and no file.

Torch builds the events whenever its trace logger has a handler, and hands them to the handlers in the thread
that compiles.  So one handler of ours is enough; removing it restores the state before.  Kinds that are not read never
reach the receiver, whether torch formats them for somebody else or not (`unread_events`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import AbstractSet, Any, Callable, Dict

from depyf.problems import Problems
from depyf.record import compile_ids
from depyf.signal_handler_errors import is_from_signal_handler
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import with_dynamo_disabled
from depyf.torch_hooks.internals.unread_events import Unformatted, UnreadEvents

START_EVENT = "dynamo_start"  # Dynamo starts on a frame
BACKWARD_EVENT = "bwd_compilation_metrics"  # a backward is compiled, which is when it first runs
GUARDS_EVENT = "dynamo_cpp_guards_str"  # the guards of a frame are built; printing them takes torch a while

# Keys of the metadata that describe the context of an event; the remaining key is the event.
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


@dataclass(frozen=True)
class TraceEvent:
    """One event of the structured trace."""

    kind: str  # "dynamo_output_graph"; for an artifact its own name: "inductor_post_grad_graph"
    compile_id: str  # as torch prints it: "0/0", "!1/0/0"; empty outside of a compilation
    attempt: int  # Dynamo starts over under the same compile id
    data: Dict[str, Any]
    payload: str  # empty where `format_payload` is there
    format_payload: Callable[[], object] | None = None  # torch's function that formats it, not called so far


class TraceHandler(logging.Handler):
    """Passes each event to `receive`; an exception there is recorded and does not reach torch."""

    def __init__(
        self, receive: Callable[[TraceEvent], None], problems: Problems, read: AbstractSet[str], logger: logging.Logger
    ) -> None:
        super().__init__()
        self._receive = receive
        self._problems = problems
        self._read = read | {old for old, new in private_hooks.RENAMED_EVENTS.items() if new in read}
        self.unread = UnreadEvents(logger, self, self._read, unformatted=(GUARDS_EVENT,))

    def createLock(self) -> None:
        """Set no lock: `receive` has its own, and two locks taken in two orders could deadlock."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Emit the record; logging's own method needs a lock from Python 3.13 on."""
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event = read_event(getattr(record, "metadata", None), getattr(record, "payload", None), self._read)
            if event is not None:
                if event.kind == START_EVENT:  # modules that raise events may have been imported since the last one
                    self.unread.stop()
                self._receive(event)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            self._problems.add_exception("reading torch's structured trace", error)


def read_event(metadata: Any, payload: Any, read: AbstractSet[str] | None = None) -> TraceEvent | None:
    """Return the event that torch logged; None for a record that is no event, and for kinds not in `read`."""
    if not isinstance(metadata, dict):
        return None
    for kind in metadata:
        if kind not in _CONTEXT:
            break
    else:
        return None
    data = metadata[kind] if isinstance(metadata[kind], dict) else {}
    if kind == "artifact":
        kind = str(data.get("name", "artifact"))
    if read is not None and kind not in read:
        return None
    kind = private_hooks.RENAMED_EVENTS.get(str(kind), str(kind))
    text = payload if isinstance(payload, str) else ""
    later = payload.format_payload if isinstance(payload, Unformatted) else None
    return TraceEvent(kind, compile_ids.from_metadata(metadata), int(metadata.get("attempt") or 0), data, text, later)


def attach(receive: Callable[[TraceEvent], None], problems: Problems, read: AbstractSet[str]) -> Callable[[], None]:
    """Pass events of the kinds in `read` to `receive`; returns the function that stops it.

    Without a trace logger this does nothing.
    """
    logger = private_hooks.find("trace_logger")
    if logger is None:
        return lambda: None
    handler = TraceHandler(receive, problems, read, logger)
    handler.handle = with_dynamo_disabled(handler.handle)  # type: ignore[method-assign]
    logger.addHandler(handler)
    before = logger.disabled
    stop_watching = _stay_switched_on()
    with problems.shield("leaving out events that are not read"):
        handler.unread.stop()

    def detach() -> None:
        handler.unread.resume()
        logger.removeHandler(handler)
        stop_watching()
        logger.disabled = before

    return detach


def switch_on(*args: Any) -> None:
    """Enable torch's trace logger: `logging.config` disables all loggers that exist, by default."""
    logger = private_hooks.find("trace_logger")
    if logger is not None:
        logger.disabled = False


def _stay_switched_on() -> Callable[[], None]:
    """Switch the trace on, now and when a compilation starts; returns the function that ends that."""
    switch_on()
    callbacks = private_hooks.find("compilation_callbacks")
    register = getattr(callbacks, "register_start_callback", None)
    if register is None:
        return lambda: None
    callback = with_dynamo_disabled(switch_on)
    register(callback)

    def stop() -> None:
        if callback in callbacks.start_callbacks:  # `torch._dynamo.reset` removes them
            callbacks.remove_start_callback(callback)

    return stop
