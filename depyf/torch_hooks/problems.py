"""What goes wrong inside depyf stays inside depyf: logged once, noted, and the user's program runs on."""

from __future__ import annotations

import logging
import platform
import sys
import traceback
from contextlib import contextmanager
from typing import Iterator, List

logger = logging.getLogger("depyf")

WHERE_TO_REPORT = "the depyf issue tracker"


class Problems:
    """Collects the failures of one session."""

    def __init__(self) -> None:
        self.lines: List[str] = []

    @contextmanager
    def shield(self, doing: str) -> Iterator[None]:
        """Run the body; an exception in it is noted and goes no further.

        KeyboardInterrupt and the like are not ours to keep and do pass.
        """
        try:
            yield
        except Exception as error:
            self.note(doing, error)

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
                "depyf failed while %s; your program runs on without this. "
                "Please report the following to %s:\n%s%s",
                doing,
                WHERE_TO_REPORT,
                detail,
                _versions(),
            )
        except Exception:  # a logging handler that raises
            pass


def _versions() -> str:
    torch = sys.modules.get("torch")
    from depyf import __version__

    return (
        f"depyf {__version__}, torch {getattr(torch, '__version__', 'not imported')}, "
        f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    )
