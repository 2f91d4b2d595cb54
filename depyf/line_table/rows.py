"""The rows of the table: each links a line of the user's with a line of a file in the folder."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from depyf.line_table.places import Source
from depyf.record.records import Location


class Row(NamedTuple):
    """Something on a line of a file that depyf wrote, and a line of the user's that it stems from."""

    file: str  # in the folder
    line: int
    stage: str  # as in the manifest; "transformed code" for that of a frame
    name: str  # of the node or kernel; empty for transformed code
    basis: str  # how the link is known: a word of `record.vocabulary`
    source: Optional[Source]  # None: nothing is known of its line
    made_for: str = ""  # "forward", "backward" or "inference", where the manifest has it
    last_line: int = 0  # of the definition of a kernel; 0: it is none
    end: int = 0  # the last line of a node that is broken into several; 0: it is on one line

    @property
    def place(self) -> Optional[Location]:
        """The line itself, not those that called the function around it."""
        return None if self.source is None else self.source.calls[-1]

    @property
    def calls(self) -> Tuple[Location, ...]:
        """The line itself and those that called, outermost first."""
        return () if self.source is None else self.source.calls

    @property
    def reaches(self) -> int:
        """The last line of its file that it is on."""
        return max(self.line, self.last_line, self.end)

    def is_on(self, line: int) -> bool:
        """Return whether it is on that line of its file."""
        return self.line <= line <= self.reaches
