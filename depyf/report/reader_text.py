"""Lines of a summary as a terminal may show them.

Names of files and functions and lines of code are the program's, and may hold anything: what a terminal would act on, a
line end in the name of a file included, is written as an escape. Cells of a notebook are called by their numbers.
"""

from __future__ import annotations

from typing import Iterable, Sequence

from depyf.record.records import UserFile
from depyf.text.lines import printable


def reader_text(lines: Iterable[str], files: Sequence[UserFile] = ()) -> str:
    """Return the lines as one text; `files` that have a label are called by it."""
    cells = [(f"{one.file}:", f"{one.label}:") for one in files if one.label]
    shown = []
    for line in lines:
        for file, label in cells:
            line = line.replace(file, label)
        shown.append(printable(line))
    return "\n".join(shown)
