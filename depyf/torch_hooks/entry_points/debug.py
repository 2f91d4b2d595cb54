"""`debug()`: pause, then run compiled code without compiling anything more, so that breakpoints in files are hit."""

from __future__ import annotations

import bdb
import os
import stat
import struct
import sys
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ContextManager, Iterator

from depyf.errors import UserError
from depyf.record.saved_form import RecordFormatError, from_json
from depyf.torch_hooks.disk.foreign_files import read_manifest

try:
    import fcntl
    import termios
except ImportError:  # not a POSIX system
    fcntl = termios = None  # type: ignore[assignment]

# Targets of PYTHONBREAKPOINT that read from the terminal; any other is called without further checks.
_TERMINAL_DEBUGGERS = (
    "",
    "pdb.set_trace",
    "ipdb.set_trace",
    "pudb.set_trace",
    "IPython.core.debugger.set_trace",
)

_MOST_FILES = 12  # that the message at the pause lists


@contextmanager
def debug(pause: bool = True, stop_on_nan: bool = False, backend: str | None = None) -> Iterator[None]:
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
    """
    _refuse_inside_prepare_debug()
    with _run_only(), _substitute(backend), _watch(stop_on_nan, pause):
        if not pause:
            pass
        elif os.environ.get("PYTHONBREAKPOINT") == "0":
            breakpoint()  # does nothing, unless the program has set a `sys.breakpointhook` of its own
        elif can_pause():
            _print(_invitation(dumped_files()))
            _pause()
            _carry_breakpoints(backend)
        else:
            _print("debug(): no terminal and no debugger to pause in; the program continues without a pause.")
        yield


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


def _watch(stop_on_nan: bool, may_pause: bool) -> ContextManager[Any]:
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
        _pause_at(None if site is None else frame_of(site))

    return watched_numbers(_newest_folder(), stop)


def _pause_at(frame: FrameType | None) -> None:
    """Pause where the operation runs, if pdb is what answers; else here, a few calls further in."""
    is_pdb = os.environ.get("PYTHONBREAKPOINT", "") in ("", "pdb.set_trace")
    if frame is None or not is_pdb or sys.breakpointhook is not sys.__breakpointhook__:
        breakpoint()
        return
    import pdb

    debugger = pdb.Pdb(nosigint=True)
    debugger.reset()
    outer: FrameType | None = frame
    while outer is not None:
        outer.f_trace, debugger.botframe = debugger.trace_dispatch, outer
        outer = outer.f_back
    debugger.set_step()
    debugger.interaction(frame, None)  # at once: on the next line the names of this one may be gone
    if debugger.quitting:
        raise bdb.BdbQuit
    if debugger.breaks or debugger.stoplineno != -1:  # unless the command was to continue
        sys.settrace(debugger.trace_dispatch)


def can_pause() -> bool:
    """Return whether `breakpoint()` would reach someone who can answer.

    The default `breakpoint()` reads commands from stdin: without a terminal or commands there it would wait for
    ever or fail at the end of input.
    """
    if sys.breakpointhook is not sys.__breakpointhook__:
        return True  # an attached IDE, or the program itself, has its own way to pause
    target = os.environ.get("PYTHONBREAKPOINT", "")
    if target not in _TERMINAL_DEBUGGERS:
        return True  # a debugger of the user's choice
    return _debugger_attached() or _terminal_answers() or _commands_wait()


def _debugger_attached() -> bool:
    """Return whether a debugger already controls this process, or a notebook that answers for stdin.

    A trace function alone does not show it: coverage sets one, too.
    """
    if isinstance(getattr(sys.gettrace(), "__self__", None), bdb.Bdb):
        return True
    debugpy = sys.modules.get("debugpy")
    if debugpy is not None and getattr(debugpy, "is_client_connected", bool)():
        return True
    pydevd = sys.modules.get("pydevd")
    if pydevd is not None and getattr(pydevd, "get_global_debugger", lambda: None)() is not None:
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _terminal_answers() -> bool:
    """Return whether stdin is a terminal that this process may read: in the background, reading would stop it."""
    try:
        if sys.stdin is None or not sys.stdin.isatty():
            return False
    except ValueError:  # stdin is closed
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return True  # a terminal that does not control this process, so that there is no background


def _commands_wait() -> bool:
    """Return whether stdin is a file or a pipe from which something can be read now, without reading it."""
    try:
        descriptor = sys.stdin.fileno()
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode):
            return os.lseek(descriptor, 0, os.SEEK_CUR) < found.st_size
        if fcntl is None or not (stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)):
            return False
        (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0)))
    except (AttributeError, OSError, ValueError):  # there is no stdin, it is closed, or it is no file of the system's
        return False
    return bool(count > 0)


def _pause() -> None:
    breakpoint()  # depyf is paused. Set breakpoints now (b FILE:LINE), then continue (c).
    return  # depyf is paused. Set breakpoints now (b FILE:LINE), then continue (c).


def _carry_breakpoints(backend: str | None) -> None:
    """Have breakpoints in the user's own files stop in the files that run in their place."""
    from depyf.torch_hooks.stepping.user_breakpoints import carry_over

    for line in carry_over(_newest_folder(), captured_graphs_run=backend == "eager"):
        _print(f"debug(): breakpoint {line}")


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
            "    with depyf.debug():\n        program()"
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
        _print("debug(): this torch has no run-only mode (torch 2.6 has); what is not compiled yet will be.")
        return _nothing()
    stance: ContextManager[Any] = set_stance("eager_on_recompile")
    return stance


@contextmanager
def _nothing() -> Iterator[None]:
    yield
