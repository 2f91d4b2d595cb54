"""Steps of pdb: from the user's code to compiled code and back, without a stop in torch's frames.

Methods of the one debugger that runs are shadowed by attributes of the instance, and the attributes removed again: of a
debugger's class, and of other debuggers, nothing is changed.
"""

from __future__ import annotations

import atexit
import bdb
import os
from types import CodeType, FrameType
from typing import Any, Callable, Dict

from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled
from depyf.torch_hooks.stepping.pauses import is_pythons_hook
from depyf.torch_hooks.stepping.pdb_backends import stop_trace_at_exit
from depyf.torch_hooks.stepping.skipped_frames import is_skipped, trace_outer_frames, untrace_skipped_frames

_STOPS = ("user_line", "user_call", "user_return", "user_exception")  # what bdb calls where it stops
_NO_STOP = -1  # bdb's stoplineno after `continue`
_MISSING = object()


def answers_breakpoint() -> bool:
    """Return whether `breakpoint()` leads to pdb itself."""
    return is_pythons_hook() and os.environ.get("PYTHONBREAKPOINT", "") in ("", "pdb.set_trace")


def pdb_for_pause() -> bdb.Bdb:
    """Return the debugger that `breakpoint()` would use: a new one, or on newer Python the one that was used last."""
    import pdb

    atexit.unregister(stop_trace_at_exit)  # once, however often it is asked for
    atexit.register(stop_trace_at_exit)
    last: bdb.Bdb | None = getattr(pdb.Pdb, "_last_pdb_instance", None)  # CPython 3.13 and newer
    return pdb.Pdb() if last is None else last


class PdbSteps:
    """Keeps the steps of one debugger out of frames that are skipped; calls `after_prompt` when a prompt was left.

    `find_file` returns the path of a file whose name pdb finds nowhere: pdb searches `sys.path` alone.
    """

    def __init__(
        self,
        debugger: Any,
        after_prompt: Callable[[], None],
        find_file: Callable[[str], str | None] = lambda name: None,
    ) -> None:
        self.first_stop: CodeType | None = None  # of depyf's own, in which the next stop is meant to be
        self._debugger = debugger
        self._after_prompt = after_prompt
        self._stop_here: Callable[[FrameType], bool] = debugger.stop_here
        self._interaction: Callable[..., Any] | None = getattr(debugger, "interaction", None)
        self._look_up: Callable[[str], str | None] | None = getattr(debugger, "lookupmodule", None)
        self._find_file = find_file
        self._shadows: Dict[str, Any] = {}
        self._before: Dict[str, Any] = {}

    def begin(self) -> None:
        """Shadow the methods."""
        for one in type(self._debugger).__mro__:
            for function in vars(one).values():
                skipped_by_dynamo(function)
        # Dynamo considers what the debugger calls, too, wherever compiled code is what was stopped in.
        self._shadows["stop_here"] = with_dynamo_disabled(self._stops_here)
        self._shadows.update({name: with_dynamo_disabled(getattr(self._debugger, name)) for name in _STOPS})
        if self._interaction is not None:
            self._shadows["interaction"] = with_dynamo_disabled(self._interact)
        if self._look_up is not None:
            self._shadows["lookupmodule"] = with_dynamo_disabled(self._looked_up)
        own = vars(self._debugger)
        self._before = {name: own.get(name, _MISSING) for name in self._shadows}
        own.update(self._shadows)

    def end(self) -> None:
        """Undo what `begin` has done."""
        own = vars(self._debugger)
        for name, before in self._before.items():
            if own.get(name) is not self._shadows[name]:
                continue  # somebody else has changed it since
            if before is _MISSING:
                del own[name]
            else:
                own[name] = before

    def _stops_here(self, frame: FrameType) -> bool:
        if frame.f_code is not self.first_stop and is_skipped(frame):
            return False
        return bool(self._stop_here(frame))

    def _looked_up(self, name: str) -> str | None:
        assert self._look_up is not None
        return self._look_up(name) or self._find_file(name)

    def _interact(self, *args: Any, **kwargs: Any) -> Any:
        assert self._interaction is not None
        result = self._interaction(*args, **kwargs)
        is_stepping = self._debugger.stoplineno != _NO_STOP and not self._debugger.quitting
        frame = args[0] if args else None
        if isinstance(frame, FrameType) and frame.f_code is self.first_stop:
            untrace_skipped_frames(frame)
            if is_stepping:
                self._debugger.set_step()  # `next` and `return`, too, are to end in the user's frame
        if isinstance(frame, FrameType) and is_stepping:
            trace_outer_frames(frame, self._debugger.trace_dispatch)
        self.first_stop = None
        self._after_prompt()
        return result
