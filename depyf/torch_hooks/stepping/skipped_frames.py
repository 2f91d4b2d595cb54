"""Skipped frames: those between the user's code and what was compiled of it, in which no step should end."""

from __future__ import annotations

import contextlib
import os
import random
import sysconfig
from functools import lru_cache
from types import FrameType

from depyf.torch_hooks.internals.code_owners import is_in_torch, package_folders

_DEPYF = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")
_CONTEXTS = contextlib.__file__  # which stands between `with depyf.debug():` and depyf
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_PACKAGES = tuple([os.path.join(folder, "") for folder in sorted(package_folders())])
_COMPILATION = os.path.join("_dynamo", "convert_frame.py")
_OF_DUMPS = ("__transformed_code_", "__compiled_fn_")

_BY_DYNAMO = (random.Random.getstate.__code__, random.Random.setstate.__code__)

_SKIPPED, _LIKE_ITS_CALLER, _GENERATED = "skipped", "like its caller", "generated"
_PACKAGE, _OF_PROGRAM = "package", "of the program"


def is_skipped(frame: FrameType) -> bool:
    """Return whether a frame is torch's or depyf's, or the standard library's in a call of theirs.

    Code of no file (`<string>`, of guards and wrappers that torch generates) is skipped like the standard library. What
    of it transformed code calls is skipped, too: when a resume function is compiled, Dynamo's C++ calls functions from
    there. Those that save the state of `random` it calls from the program's own frames, too, when what they call is
    compiled: they are always skipped. So is what a package does for a compilation (sympy).
    """
    current: FrameType | None = frame
    while current is not None:
        if current.f_code in _BY_DYNAMO:
            return True
        kind = _kind(current.f_code.co_filename)
        if kind == _PACKAGE:
            return _is_compiling(current)
        if kind != _LIKE_ITS_CALLER:
            return kind == _SKIPPED or (kind == _GENERATED and current is not frame)
        current = current.f_back
    return False


def _is_compiling(frame: FrameType | None) -> bool:
    """Return whether Dynamo's compilation of a frame is among the callers."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith(_COMPILATION) and is_in_torch(file):
            return True
        frame = frame.f_back
    return False


def trace_outer_frames(frame: FrameType, trace: object) -> None:
    """Give `trace` to the frames around a frame in which a step may end, where they have no trace function.

    A debugger gives its own to the direct caller alone, which is torch's.
    """
    current = frame.f_back
    while current is not None:
        if current.f_trace is None and not is_skipped(current):
            current.f_trace = trace  # type: ignore[assignment]
        current = current.f_back


def untrace_skipped_frames(frame: FrameType) -> None:
    """Take the trace function from skipped frames around a frame, all of which get one where a pause begins."""
    current: FrameType | None = frame
    while current is not None:
        if is_skipped(current):
            current.f_trace = None
        current = current.f_back


@lru_cache(maxsize=None)
def _kind(file: str) -> str:
    if is_in_torch(file) or file.startswith(_DEPYF) or file == _CONTEXTS:
        return _SKIPPED
    if file.startswith("<") or (file.startswith(_LIBRARY) and not file.startswith(_PACKAGES)):
        return _LIKE_ITS_CALLER
    if file.startswith(_PACKAGES):
        return _PACKAGE
    return _GENERATED if os.path.basename(file).startswith(_OF_DUMPS) else _OF_PROGRAM
