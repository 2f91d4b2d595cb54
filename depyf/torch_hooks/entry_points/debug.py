"""`debug()`: pause, then run compiled code without compiling anything more, so that breakpoints in files are hit."""

from __future__ import annotations

import bdb
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ContextManager, Iterator, Sequence

from depyf.errors import UserError
from depyf.record.saved_form import RecordFormatError, from_json
from depyf.torch_hooks.disk.foreign_files import read_manifest
from depyf.torch_hooks.internals.run_only import run_only_callbacks
from depyf.torch_hooks.stepping.asked_breakpoints import asked_places
from depyf.torch_hooks.stepping.attendance import Attendance
from depyf.torch_hooks.stepping.pauses import can_pause
from depyf.torch_hooks.stepping.pdb_steps import answers_breakpoint, pdb_for_pause
from depyf.torch_hooks.stepping.user_breakpoints import carrier_of_folder

_MOST_FILES = 12  # that the message at the pause lists


@contextmanager
def debug(
    pause: bool = True, stop_on_nan: bool = False, backend: str | None = None, breakpoints: Sequence[Any] = ()
) -> Iterator[None]:
    """Pause with `breakpoint()`, then let the compiled program run with nothing recompiled.

        with depyf.prepare_debug("./dump"):
            program()                       # compiles; the files in ./dump are written and linked
        with depyf.debug():                 # pauses here: set breakpoints in those files, then continue
            program()                       # ... and they are hit

    PYTHONBREAKPOINT, pdb and an attached IDE are honoured; commands for pdb may also come from a file or a pipe
    (`python program.py < commands`).  Where nobody could answer (no terminal, no debugger, nothing to read on
    stdin) this prints so to stderr and continues.  Inside, cached code runs, and what has no cached code runs
    eagerly: a new shape compiles nothing.  UserError when called inside `prepare_debug` or without torch.

    pause: whether to pause, at the start and at a NaN.
    stop_on_nan: stop at the first operation, forward or backward, whose output holds a NaN or Inf though its inputs
    do not: a debugger that is attached pauses there, and without one this raises `depyf.NumericError`.
    backend: "eager" or "aot_eager" runs the captured graphs in the place of kernels that cannot be stepped through.
    breakpoints: lines at which the debugger stops, that of an editor or else pdb: "FILE:LINE" of your source or of a
    dumped file, a function, its name, or (function, line). UserError where nothing can stop there, with what would.
    """
    if isinstance(pause, (str, Path)):
        raise UserError(f"debug({str(pause)!r}): it takes no folder; its files are those of the newest prepare_debug")
    for name, value in (("pause", pause), ("stop_on_nan", stop_on_nan)):
        if not isinstance(value, int):  # bool is one
            raise UserError(f"debug({name}={value!r}): expected True or False")
    _refuse_inside_prepare_debug()
    with _attend(backend) as attendance, _run_only(), _substitute(backend), _watch(stop_on_nan, pause, attendance):
        attendance.attend_running()
        attendance.answer_breakpoint_calls()
        _set_breakpoints(breakpoints, backend, attendance)
        if not pause:
            pass
        elif os.environ.get("PYTHONBREAKPOINT") == "0":
            breakpoint()  # does nothing, unless the program has set a `sys.breakpointhook` of its own
        elif can_pause():
            _print(_invitation(dumped_files()))
            _pause(_stepping_pdb(attendance))
            attendance.attend_running()  # to a debugger that the pause has started
        else:
            _print("debug(): no terminal and no debugger to pause in; the program continues without a pause.")
        yield


def _attend(backend: str | None) -> Attendance:
    """Return the context that carries breakpoints over and keeps steps out of torch."""
    return Attendance(
        lambda: carrier_of_folder(_newest_folder(), backend), lambda text: _print(f"debug(): breakpoint {text}")
    )


def _set_breakpoints(breakpoints: Sequence[Any], backend: str | None, attendance: Attendance) -> None:
    if isinstance(breakpoints, str) or not isinstance(breakpoints, Sequence):
        raise UserError(f"debug(breakpoints={breakpoints!r}): expected a list")
    places = asked_places(breakpoints, _newest_folder(), backend)
    if places and not attendance.set_breakpoints(places):
        _print("debug(): no terminal and no debugger to stop in: the breakpoints are left out.")


def _stepping_pdb(attendance: Attendance) -> bdb.Bdb | None:
    """Return the pdb that answers at the pause; None where something else does."""
    if not answers_breakpoint():
        return None
    debugger = pdb_for_pause()
    attendance.attend(debugger, first_stop=_pause.__code__)
    return debugger


@contextmanager
def _substitute(backend: str | None) -> Iterator[None]:
    """Run captured graphs in the place of what the backend made of them, where that was asked for."""
    if backend is None:
        yield
        return
    from depyf.torch_hooks.stepping.graph_substitutes import substituted_graphs

    with substituted_graphs(backend, _newest_folder()) as lost:
        if lost:
            _print(f"debug(): {', '.join(lost)} run as compiled: torch has not kept the captured graph.")
        yield


def _newest_folder() -> str | None:
    folder: str | None = getattr(_session_module(), "last_folder", lambda: None)()
    return folder


def _watch(stop_on_nan: bool, may_pause: bool, attendance: Attendance) -> ContextManager[Any]:
    """Return the context that stops at the first NaN or Inf, where that was asked for."""
    if not stop_on_nan:
        return _nothing()
    from depyf.torch_hooks.numerics.number_watch import watched_numbers
    from depyf.torch_hooks.numerics.numeric_report import NumericError, NumericReport
    from depyf.torch_hooks.numerics.operation_sites import Site, frame_of

    def stop(report: NumericReport, site: Site | None) -> None:
        if not (may_pause and can_pause()):
            raise NumericError(report)
        _print(f"debug(): {report}")
        frame = None if site is None else frame_of(site)
        if frame is None or not answers_breakpoint():
            breakpoint()
        else:
            attendance.pause_at(frame)

    return watched_numbers(_newest_folder(), stop)


def _pause(debugger: bdb.Bdb | None) -> None:
    if debugger is not None:
        debugger.set_trace(sys._getframe())  # depyf is paused. Set breakpoints now (b FILE:LINE), then continue (c).
    else:
        breakpoint()  # depyf is paused. Set breakpoints now (b FILE:LINE), then continue (c).
    return  # depyf is paused. Set breakpoints now (b FILE:LINE), then continue (c).


def _invitation(files: list[Path]) -> str:
    """Return the message at the pause."""
    if not files:
        return "debug(): paused. Set breakpoints in the files of a prepare_debug folder, then continue."
    lines = ["debug(): paused. The code that runs is in these files; set breakpoints there, then continue:"]
    lines += [f"    {path}" for path in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        lines.append(f"    ... and {len(files) - _MOST_FILES} more in {files[0].parent}")
    return "\n".join(lines)


def _print(message: str) -> None:
    if sys.stderr is not None:
        print("depyf: " + message, file=sys.stderr, flush=True)


def dumped_files() -> list[Path]:
    """Return the files with code that runs, of the last `prepare_debug`; empty where there was none."""
    folder = _newest_folder()
    if folder is None:
        return []
    try:
        record = from_json(read_manifest(folder)[0])
    except (ValueError, RecordFormatError):
        return []
    names = [frame.file for frame in record.frames]
    names += [name for graph in record.graphs for name in graph.linked_files]
    return [Path(folder) / name for name in names]


def _refuse_inside_prepare_debug() -> None:
    if getattr(_session_module(), "active", lambda: None)() is not None:
        raise UserError(
            "depyf.debug() was called inside depyf.prepare_debug(), where the program still compiles and the "
            "files are not complete. Leave prepare_debug first:\n"
            "    with depyf.prepare_debug('./dump'):\n        program()\n"
            "    with depyf.debug():\n        program()\n"
            "or enter prepare_debug('./dump', debug=True): then what is compiled can be stepped through at once."
        )


def _session_module() -> Any:
    """Return the module of `prepare_debug` if it was ever used, else None."""
    return sys.modules.get("depyf.torch_hooks.entry_points.prepare_debug")


def _run_only() -> ContextManager[Any]:
    """Return the context of torch in which cached code runs and nothing is compiled."""
    try:
        import torch
    except ImportError as error:
        raise UserError("depyf.debug() runs compiled PyTorch programs, and torch is not installed") from error
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is None:
        return run_only_callbacks()
    stance: ContextManager[Any] = set_stance("eager_on_recompile")
    return stance


@contextmanager
def _nothing() -> Iterator[None]:
    yield
