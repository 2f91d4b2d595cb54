"""Why the rungs of one ladder failed: what the reader is shown, and what is worth a report."""

from __future__ import annotations

import logging
import os
from typing import List, Tuple

log = logging.getLogger("depyf")


class Failures:
    """The failures of the rungs tried so far."""

    def __init__(self) -> None:
        self._reasons: List[str] = []
        self._bugs: List[str] = []

    def add(self, rung: str, reason: object) -> None:
        """Record that a rung has no text, or none that is proved."""
        self._reasons.append(f"{rung}: {reason}")

    def add_bug(self, rung: str, error: BaseException, name: str) -> None:
        """Record an exception that no stage should raise; call it where the exception is handled."""
        log.debug("decompiling %s failed", name, exc_info=True)
        self._bugs.append(f"{type(error).__name__} in {_place(error)}: {error}")
        self.add(rung, f"{type(error).__name__}: {error}")

    @property
    def reason(self) -> str:
        """All reasons on one line, each once."""
        return "; ".join(dict.fromkeys(self._reasons)) or "nothing was tried"

    @property
    def bugs(self) -> Tuple[str, ...]:
        """The unexpected exceptions, each once."""
        return tuple(dict.fromkeys(self._bugs))


def _place(error: BaseException) -> str:
    """Return the file and line that raised an exception."""
    trace = error.__traceback__
    name = "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        name = f"{code.co_filename.replace(os.sep, '/').rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return name
