"""Pauses: whether `breakpoint()` would reach someone who can answer."""

from __future__ import annotations

import os
import stat
import struct
import sys

from depyf.torch_hooks.stepping.pdb_backends import running_pdb

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


_OURS = "prompts_for_depyf"  # marks a hook that does what Python's does, at the line of the call


def mark_as_ours(hook: object) -> None:
    """Mark a hook of depyf's, which prompts where Python's own would."""
    setattr(hook, _OURS, True)


def is_pythons_hook() -> bool:
    """Return whether `breakpoint()` does what it does by default."""
    return sys.breakpointhook is sys.__breakpointhook__ or hasattr(sys.breakpointhook, _OURS)


def can_pause() -> bool:
    """Return whether `breakpoint()` would reach someone who can answer.

    The default `breakpoint()` reads commands from stdin: without a terminal or commands there it would wait for
    ever or fail at the end of input.
    """
    if not is_pythons_hook():
        return True  # an attached IDE, or the program itself, has its own way to pause
    target = os.environ.get("PYTHONBREAKPOINT", "")
    if target not in _TERMINAL_DEBUGGERS:
        return True  # a debugger of the user's choice
    return _debugger_attached() or _terminal_answers() or _commands_wait()


def _debugger_attached() -> bool:
    """Return whether a debugger already controls this process, or a notebook that answers for stdin.

    A trace function alone does not show it: coverage sets one, too.
    """
    if running_pdb() is not None:
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
