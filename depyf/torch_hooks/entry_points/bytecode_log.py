"""`install()` and `uninstall()`: decompiled source in torch's own bytecode log (`TORCH_LOGS="+bytecode"`).

Torch writes `MODIFIED BYTECODE ...` to that log and then calls the bytecode hooks: `install` registers one that
writes the source to the same log.  No function of torch is replaced.
"""

from __future__ import annotations

import logging
from types import CodeType
from typing import TYPE_CHECKING, Any

from depyf.errors import UserError
from depyf.problems import Problems
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.generated_code import DYNAMO

if TYPE_CHECKING:
    from depyf.decompiler.attempt import Decompilation

# The one hook that `install` registered, while it is installed: torch's list of hooks is global as well.
_installed: list[Any] = []
_problems = Problems()


def install() -> None:
    """Write each frame that Dynamo compiles from now on as source to torch's bytecode log.

    The log is shown with `TORCH_LOGS="+bytecode"` or `torch._logging.set_logs(bytecode=True)`; while it is
    off, nothing is decompiled.  The running code stays Dynamo's own.  A second call does nothing.
    UserError without torch, or with one that has no bytecode hooks.
    """
    if _installed:
        return
    register = private_hooks.find("register_bytecode_hook")
    if register is None:
        raise UserError("depyf.install() needs torch 2.2 or newer, which cannot be imported here")
    _installed.append(register(_log_source))


def uninstall() -> None:
    """Undo `install()`; does nothing when it is not installed."""
    while _installed:
        _installed.pop().remove()


def _log_source(original: CodeType, transformed: CodeType) -> None:
    """Log the source of a frame: the hook, which never raises and never replaces the code."""
    with _problems.shield("writing decompiled source to the bytecode log"):
        logger = private_hooks.find("bytecode_logger")
        if logger is not None and logger.isEnabledFor(logging.DEBUG):
            from depyf.decompiler.pipeline import decompile_frame

            result = decompile_frame(transformed, reference=original, generator=DYNAMO)
            logger.debug("%s", _message(original, result))


def _message(original: CodeType, result: Decompilation) -> str:
    """Return the entry in the form of torch's own, with the grade of the proof."""
    place = f"{original.co_name} {original.co_filename} line {original.co_firstlineno}"
    return f"DECOMPILED CODE {place} ({result.verdict.grade.name})\n{result.source.rstrip()}\n"
