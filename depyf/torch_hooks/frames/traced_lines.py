"""The lines that Dynamo traced, and so those of a function that it never came to: another branch, an exception handler.

Dynamo announces each line that it starts on. A line of which nothing is left in the compiled code was evaluated while
tracing, or was not reached: here the two differ.
"""

from __future__ import annotations

import dis
import sys
import threading
from types import CodeType
from typing import Any, Callable, Set, Tuple

from depyf.text.number_ranges import in_ranges
from depyf.torch_hooks.internals import private_hooks

_ROW = "line_announcer"  # of the table of private hooks
Line = Tuple[str, int]


class TracedLines:
    """Collects the lines of the compilation that runs now, in each thread."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self.is_known = False  # whether torch announces them

    def attach(self) -> Callable[[], None]:
        """Listen to the lines that Dynamo starts on; returns the function that stops it."""
        original = private_hooks.find(_ROW)
        row = private_hooks.hook(_ROW)
        name, _, method = row.attribute.partition(".")
        home: Any = getattr(sys.modules.get(row.module), name, None)
        if original is None or home is None:
            return lambda: None
        of_thread = self._of_thread

        def announce(filename: Any, lineno: Any, *rest: Any, **options: Any) -> Any:  # for each line of each layer
            lines = getattr(of_thread, "lines", None)
            if lines is not None:
                lines.add((filename, lineno))
            return original(filename, lineno, *rest, **options)

        kept, replacement = vars(home)[method], staticmethod(announce)

        def detach() -> None:
            if vars(home).get(method) is replacement:
                setattr(home, method, kept)
            self.is_known = False

        setattr(home, method, replacement)
        self.is_known = True
        return detach

    def begin(self) -> None:
        """Forget the lines so far: a compilation starts in this thread."""
        self._of_thread.lines = set()

    def unreached(self, code: CodeType, is_whole: bool) -> str:
        """Return the lines of a function that were not traced since `begin`, as ranges: "12-14,20".

        Where a graph broke (`is_whole` is False) those behind the last line that was traced are left out: the resume
        function has them.
        """
        lines: Set[Line] | None = getattr(self._of_thread, "lines", None)
        if not self.is_known or not lines:
            return ""
        traced = {line for file, line in lines if file == code.co_filename}
        own = {line for _, line in dis.findlinestarts(code) if line is not None} - {code.co_firstlineno}
        end = max(own, default=0) if is_whole else max(own & traced, default=0)
        return in_ranges([line for line in sorted(own - traced) if line <= end], ",")
