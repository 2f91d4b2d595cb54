"""Keep failures inside depyf: log each kind once, record it, and let the user's program run on.

There are two kinds: a bug of depyf's own is an error to report; a folder that cannot be written any more (the disk is
full, it was removed) is a warning, logged once however many files are lost.
"""

from __future__ import annotations

import logging
import platform
import sys
import traceback
from typing import Any, List

from depyf.signal_handler_errors import is_from_signal_handler
from depyf.version import __version__

logger = logging.getLogger("depyf")

WHERE_TO_REPORT = "the depyf issue tracker"


class CannotWrite(OSError):
    """A file of ours could not be written; the user has been warned already."""


class Shield:
    """Context around work whose exceptions must not reach the user's program; there are a dozen for each frame."""

    __slots__ = ("_doing", "_problems")

    def __init__(self, problems: Problems, doing: str) -> None:
        self._problems, self._doing = problems, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if error is None or isinstance(error, CannotWrite):
            return True
        if not isinstance(error, Exception) or is_from_signal_handler(error):
            return False
        self._problems.add_exception(self._doing, error)
        return True


class Problems:
    """Collects the failures of one session."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.files_lost = 0  # files that could not be written
        self.why_lost = ""

    def shield(self, doing: str) -> Shield:
        """Return a context that records an exception of its body and stops it there.

        KeyboardInterrupt and the like, and exceptions of the program's signal handlers, pass through.
        """
        return Shield(self, doing)

    def cannot_write(self, path: str, error: OSError) -> CannotWrite:
        """Count a file that was not written, warn the first time, and return the exception to raise."""
        self.files_lost += 1
        reason = error.strerror or str(error) or type(error).__name__
        if not self.why_lost:
            self.why_lost = reason
            try:
                logger.warning(
                    "depyf cannot write %s: %s. Your program runs on; what cannot be written is left out.", path, reason
                )
            except Exception:  # a logging handler that raises
                pass
        return CannotWrite(error.errno, reason, path)

    def add_exception(self, doing: str, error: BaseException) -> None:
        """Record an exception; log it with what to report, the first time that this work fails with its type."""
        try:
            detail = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        except Exception:  # an error whose text cannot be made
            detail = type(error).__name__ + "\n"
        self.add(doing, type(error).__name__, detail)

    def add(self, doing: str, kind: str, detail: str) -> None:
        """Record a failure that another part of depyf caught: `kind` in a word or two, and the full text of it."""
        line = f"{doing}: {kind}"
        if line in self.lines:
            return
        self.lines.append(line)
        try:
            logger.error(
                "depyf failed while %s; your program runs on without this. Please report the following to %s:\n%s%s",
                doing,
                WHERE_TO_REPORT,
                detail,
                _versions(),
            )
        except Exception:  # a logging handler that raises
            pass


def _versions() -> str:
    torch = sys.modules.get("torch")
    return (
        f"depyf {__version__}, torch {getattr(torch, '__version__', 'not imported')}, "
        f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    )
