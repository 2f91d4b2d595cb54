"""What goes wrong inside depyf stays inside depyf: logged once, noted, and the user's program runs on.

Two kinds: a mistake of depyf's own is an error to report; a folder that cannot be written any more (the disk is full,
someone removed it) is a warning, told once however many files are lost.
"""

from __future__ import annotations

import logging
import platform
import sys
import traceback
from typing import Any, List

from depyf.signals import is_from_signal_handler
from depyf.version import __version__

logger = logging.getLogger("depyf")

LOST = " could not be written: "  # in the line that tells of files that a full disk or the like took
WHERE_TO_REPORT = "the depyf issue tracker"


class CannotWrite(OSError):
    """A file of ours could not be written, and the user has been told: nothing more to say."""


class Shield:
    """Around work that must not reach the user's program; there are a dozen for each frame."""

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
        self._problems.note(self._doing, error)
        return True


class Problems:
    """Collects the failures of one session."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.files_lost = 0  # that could not be written
        self.why_lost = ""

    def shield(self, doing: str) -> Shield:
        """Run the body; an exception in it is noted and goes no further.

        KeyboardInterrupt and the like are not ours to keep and do pass.
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

    def all_lines(self) -> List[str]:
        """Every problem in a line each; how many files were lost is one of them."""
        files = "a file" if self.files_lost == 1 else f"{self.files_lost} files"
        return self.lines + ([files + LOST + self.why_lost] if self.files_lost else [])

    def note(self, doing: str, error: BaseException) -> None:
        """Log a failure with what to report, the first time that this kind of work fails; and remember it."""
        try:
            detail = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        except Exception:  # an error whose text cannot be made
            detail = type(error).__name__ + "\n"
        self.tell(doing, type(error).__name__, detail)

    def tell(self, doing: str, kind: str, detail: str) -> None:
        """The same for a failure that another part of depyf caught: `kind` in a word or two, and all of it."""
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
