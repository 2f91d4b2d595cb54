"""How debuggers of bdb's kind receive events: by `sys.settrace`, or from CPython 3.14 on by `sys.monitoring`."""

from __future__ import annotations

import bdb
import sys
import threading
from types import FrameType
from typing import Any


def running_pdb() -> bdb.Bdb | None:
    """Return the debugger of bdb's kind that traces this thread, if one does.

    One that uses `sys.monitoring` (CPython 3.14 and newer) sets no trace function: frames that it traces lead to it.
    """
    debugger = getattr(sys.gettrace(), "__self__", None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not isinstance(debugger, bdb.Bdb):
        traced_by = getattr(frame.f_trace, "__self__", None)
        debugger = traced_by if _is_monitoring(traced_by) else None
        frame = frame.f_back
    return debugger if isinstance(debugger, bdb.Bdb) else None


def _is_monitoring(debugger: Any) -> bool:
    """Return whether a debugger receives events of this thread through `sys.monitoring`."""
    tracer = getattr(debugger, "monitoring_tracer", None)
    return getattr(tracer, "_tracing_thread", None) is threading.current_thread()


def start_trace(debugger: Any) -> None:
    """Have a debugger receive the events of this thread, in the way that it was made for."""
    if hasattr(debugger, "start_trace"):  # CPython 3.14 and newer
        debugger.start_trace()
    else:
        sys.settrace(debugger.trace_dispatch)


def lines_to_stop_at_changed(debugger: Any) -> None:
    """Have a debugger receive events again that it has switched off, since nothing could stop there."""
    getattr(debugger, "restart_events", lambda: None)()  # CPython 3.14 and newer


def stop_trace_at_exit() -> None:
    """End the events of the debugger that traces this thread, when the program has ended.

    What Python calls after that, when the globals of pdb's own modules may be gone already, would fail in it: torch has
    callbacks for code objects that are freed.
    """
    debugger: Any = running_pdb()
    if hasattr(debugger, "stop_trace"):  # CPython 3.14 and newer
        debugger.stop_trace()
    elif debugger is not None:
        sys.settrace(None)
