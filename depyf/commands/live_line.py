"""One line on the terminal while torch compiles: how much there is of what, and for how long already.

    depyf: 3 frames, 2 graphs, 1 break, 0 recompiles, 12 s

It is there only while torch compiles, when the program itself prints nothing, and erased before the program continues;
without a terminal there is none.  A thread draws it, so that the seconds pass; a forked child draws nothing.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from typing import Any, Callable, TextIO

from depyf.torch_hooks.internals import private_hooks

Numbers = Callable[[], str]  # what was compiled so far, in words

_PAUSE = 0.2  # seconds between two drawings, and before the first one
_ERASE = "\r\x1b[K"
_BACK = "\r"  # what torch itself prints meanwhile, a warning, then starts where the line does


def attach(stream: TextIO, numbers: Numbers) -> None:
    """Draw the line on a terminal whenever torch compiles; without effect elsewhere, or where torch gives no notice."""
    on_start, on_end = private_hooks.find("on_compile_start"), private_hooks.find("on_compile_end")
    if _is_terminal(stream) and on_start is not None and on_end is not None:
        line = LiveLine(stream, numbers)
        on_start(line.begin)
        on_end(line.end)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False


class LiveLine:
    """The line, and the thread that draws it while at least one compilation is under way."""

    def __init__(self, stream: TextIO, numbers: Numbers) -> None:
        self._stream = stream
        self._numbers = numbers
        self._process = os.getpid()
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._depth = 0
        self._is_drawn = False

    def begin(self, *_: Any) -> None:
        """Start to draw; torch calls it when it begins to compile."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._is_over = threading.Event()
                threading.Thread(target=self._draw, args=(self._is_over,), name="depyf", daemon=True).start()

    def end(self, *_: Any) -> None:
        """Erase the line; torch calls it when it has compiled."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._depth = max(0, self._depth - 1)
            if not self._depth and not self._is_over.is_set():
                self._is_over.set()
                if self._is_drawn:  # else the program may have left a line unfinished there
                    self._write("")
                    self._is_drawn = False

    def _draw(self, is_over: threading.Event) -> None:
        while not is_over.wait(_PAUSE):
            text = f"depyf: {self._numbers()}, {time.monotonic() - self._started:.0f} s"
            width = shutil.get_terminal_size().columns - 1
            with self._lock:
                if not is_over.is_set():
                    self._is_drawn = True
                    self._write(text[:width])

    def _write(self, text: str) -> None:
        try:
            self._stream.write(_ERASE + text + _BACK * bool(text))
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, or the program has closed the stream
            self._is_over.set()
