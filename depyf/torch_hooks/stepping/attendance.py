"""Attend to the debuggers that control the program: carry their breakpoints over, keep their steps out of torch."""

from __future__ import annotations

import bdb
import functools
import os
import sys
from contextlib import ExitStack
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, List, Sequence, Tuple

from depyf.torch_hooks.internals.dynamo_disabled import with_dynamo_disabled
from depyf.torch_hooks.stepping.pauses import can_pause, mark_as_ours
from depyf.torch_hooks.stepping.pdb_backends import lines_to_stop_at_changed, running_pdb, start_trace
from depyf.torch_hooks.stepping.pdb_breakpoints import PdbBreakpoints
from depyf.torch_hooks.stepping.pdb_steps import PdbSteps, answers_breakpoint, pdb_for_pause
from depyf.torch_hooks.stepping.pydevd_breakpoints import PydevdBreakpoints, running_pydevd
from depyf.torch_hooks.stepping.skipped_frames import is_skipped
from depyf.torch_hooks.stepping.user_breakpoints import Announcer, CarriedLine, LineCarrier, Place


class Attendance:
    """A context; what was changed of a debugger while it was open is undone when it is left."""

    def __init__(self, make_carrier: Callable[[], LineCarrier], show: Callable[[str], None]) -> None:
        self._make_carrier = make_carrier
        self._announcer = Announcer(show)
        self._carrier: LineCarrier | None = None  # made when there is a breakpoint to carry
        self._pydevd: PydevdBreakpoints | None = None
        self._pdb: PdbBreakpoints | None = None  # of the debugger that was attended to last: all have the same ones
        self._steps: List[Tuple[Any, PdbSteps]] = []  # of each debugger
        self._open = ExitStack()

    def __enter__(self) -> Attendance:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._remove_from_pdb()
        self._open.close()

    def attend_running(self) -> None:
        """Attend to the debuggers that control this thread or process now."""
        pydevd = running_pydevd()
        if pydevd is not None and self._pydevd is None:
            self._pydevd = PydevdBreakpoints(pydevd, self._carry_line, self._announcer)
            self._open.enter_context(self._pydevd.kept())
        debugger = running_pdb()
        if debugger is not None:
            self.attend(debugger)

    def attend(self, debugger: bdb.Bdb, first_stop: CodeType | None = None) -> None:
        """Attend to a debugger of pdb's kind; `first_stop`: code of depyf's own in which it is to stop first."""
        steps = next((steps for one, steps in self._steps if one is debugger), None)
        if steps is None:
            steps = PdbSteps(debugger, self._after_prompt, self._find_file)
            self._steps.append((debugger, steps))
            self._open.callback(steps.end)
            steps.begin()
        if self._pdb is None or self._pdb.debugger is not debugger:
            self._remove_from_pdb()
            self._pdb = PdbBreakpoints(debugger, self._carry_line, self._announcer)
            self._pdb.carry()
        steps.first_stop = first_stop

    def lines_changed(self) -> None:
        """Carry breakpoints over again: the files that run have changed."""
        self._carrier = None
        self.attend_running()
        if self._pdb is not None:
            self._pdb.carry_anew()
            lines_to_stop_at_changed(self._pdb.debugger)
        if self._pydevd is not None:
            self._pydevd.carry_anew()

    def answer_breakpoint_calls(self) -> None:
        """Have `breakpoint()` prompt at the very line that calls it, where pdb would answer."""
        if not answers_breakpoint():
            return
        before = sys.breakpointhook
        hook = functools.partial(with_dynamo_disabled(self._on_breakpoint_call))  # which can be marked, unlike a method
        mark_as_ours(hook)
        sys.breakpointhook = hook
        self._open.callback(lambda: _put_back_hook(hook, before))

    def _on_breakpoint_call(self, *args: Any, **kwargs: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and is_skipped(frame):
            frame = frame.f_back
        if frame is None or args or kwargs or not answers_breakpoint() or not can_pause():
            return sys.__breakpointhook__(*args, **kwargs)
        self.pause_at(frame)
        return None

    def _after_prompt(self) -> None:
        if self._pdb is not None:
            self._pdb.carry()

    def _remove_from_pdb(self) -> None:
        if self._pdb is not None:
            self._pdb.remove()

    def set_breakpoints(self, places: Sequence[Place]) -> bool:
        """Have a debugger stop at lines, without a pause before; they are removed when the context is left.

        Return whether there is one: an editor that controls the program, or somebody who can answer pdb.
        """
        if self._pydevd is not None:
            self._pydevd.set_places(places)
        elif answers_breakpoint() and can_pause():
            self._set_in_pdb(places)
        else:
            return False
        return True

    def _set_in_pdb(self, places: Sequence[Place]) -> None:
        debugger: Any = running_pdb()
        if debugger is None:
            debugger = pdb_for_pause()
            self._trace_from(debugger, sys._getframe(2))
        self.attend(debugger)
        first = len(bdb.Breakpoint.bpbynumber)
        for file, line in places:
            debugger.set_break(file, line)
        for number in range(first, len(bdb.Breakpoint.bpbynumber)):
            self._open.callback(debugger.clear_bpbynumber, number)
        debugger.set_continue()
        start_trace(debugger)

    @staticmethod
    def _trace_from(debugger: Any, frame: FrameType | None) -> None:
        """Have a debugger that was not running trace the frames from one outwards."""
        debugger.reset()
        while frame is not None:
            frame.f_trace, debugger.botframe = debugger.trace_dispatch, frame
            frame = frame.f_back

    def pause_at(self, frame: FrameType) -> None:
        """Have pdb prompt at the line that a frame runs now, and step from there."""
        debugger: Any = pdb_for_pause()
        self.attend(debugger)
        self._trace_from(debugger, frame)
        debugger.set_step()
        debugger.interaction(frame, None)  # at once: on the next line the names of this one may be gone
        if debugger.quitting:
            raise bdb.BdbQuit
        if debugger.breaks or debugger.stoplineno != -1:  # unless the command was to continue
            start_trace(debugger)

    def _carry_line(self, file: str, line: int) -> CarriedLine | None:
        return self._current_carrier().carry(file, line)

    def _find_file(self, name: str) -> str | None:
        """Return the path of a file: from the folder that the program runs in, or of the dumped ones by its name."""
        for folder in ("", *self._current_carrier().folders):
            path = os.path.abspath(os.path.join(folder, name))
            if os.path.isfile(path):
                return path
        return None

    def _current_carrier(self) -> LineCarrier:
        if self._carrier is None:
            self._carrier = self._make_carrier()
        return self._carrier


def _put_back_hook(ours: Any, before: Any) -> None:
    if sys.breakpointhook is ours:  # else somebody else has replaced it since
        sys.breakpointhook = before
