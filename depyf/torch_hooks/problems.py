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
        line = f"{doing}: {type(error).__name__}"
        if line in self.lines:
            return
        self.lines.append(line)
        try:
            detail = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            logger.error(
                "depyf failed while %s; your program runs on without this. "
                "Please report the following to %s:\n%s%s",
                doing,
                WHERE_TO_REPORT,
                detail,
                _versions(),
            )
        except Exception:  # an error whose text cannot be made, or a logging handler that raises
            pass


def _versions() -> str:
    torch = sys.modules.get("torch")
    from depyf import __version__

    return (
        f"depyf {__version__}, torch {getattr(torch, '__version__', 'not imported')}, "
        f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    )
