"""Find the call in Inductor's generated Python that writes the first NaN or Inf, by running it line by line once more.

Used only where the captured graph is finite on the same inputs: then one of the kernels is at fault. The trace function
is put in place for that one run, and the debugger's or coverage's own is put back.
"""

from __future__ import annotations

import linecache
import re
import sys
from types import FrameType
from typing import Any, Dict, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.numerics.finite_values import is_finite, is_recording, unwatched
from depyf.torch_hooks.numerics.operation_sites import INDUCTOR_MARK

_BUFFER = re.compile(r"\b(?:buf|arg|primals_|tangents_)\w*")
_FUNCTIONS = re.compile(r"call|partition_\d+")
# Lines that write nothing: memory is taken, named, checked or given back.
_WRITES_NOTHING = re.compile(
    r"del |assert_|return|.*\bempty_strided|.*= args$|.*\bargs\.clear|.*reinterpret_tensor\(\w+,"
)


class KernelSearch:
    """Watches the lines of Inductor's wrappers in this thread while it is entered."""

    def __init__(self) -> None:
        self.found: Location | None = None
        self._last: Dict[int, Tuple[str, int]] = {}  # id of a frame -> the line that it runs
        self._before: Any = None

    def __enter__(self) -> KernelSearch:
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *raised: Any) -> None:
        sys.settrace(self._before)

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if _FUNCTIONS.fullmatch(frame.f_code.co_name) and INDUCTOR_MARK in frame.f_globals:
            return self._on_line
        return None

    def _on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        last = self._last.get(id(frame))
        if last is not None and self.found is None:
            self._look(frame, *last)
        self._last[id(frame)] = frame.f_code.co_filename, frame.f_lineno
        return self._on_line

    def _look(self, frame: FrameType, file: str, line: int) -> None:
        code = linecache.getline(file, line, frame.f_globals).strip()
        if _WRITES_NOTHING.match(code) or "(" not in code or is_recording():
            return
        values = [frame.f_locals.get(name) for name in _BUFFER.findall(code)]
        with unwatched():
            if not all(map(is_finite, values)):
                self.found = Location(file, line, "", code)
