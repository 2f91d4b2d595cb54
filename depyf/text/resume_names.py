"""Names of resume functions, which are the rests of functions after graph breaks.

torch_dynamo_resume_in_forward_at_12    torch 2.3 and newer: the function, and the line from which it continues
resume_in_forward                       torch 2.2; a function of the user's may be called so, too
Model.forward resumed at line 12        the title of a record
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

BEGINNING = r"(?:torch_dynamo_)?resume_in_"
UP_TO_LINE = r"torch_dynamo_resume_in_\w+?_at"  # to find names inside a text; those of torch 2.2 have no line
_RESUMED_AT = " resumed at line "
_OF_DYNAMO = re.compile(rf"{BEGINNING}(?P<function>.+?)(?:_at_(?P<line>\d+))?$")
_TITLE = re.compile(rf"(?P<function>.+){_RESUMED_AT}(?P<line>\d+)$")


class ResumeName(NamedTuple):
    """What the name of a resume function contains."""

    function: str  # that it continues
    line: Optional[int]  # None: the name has none
    is_certain: bool  # False: a function of the user's may have the name


def read(name: str) -> Optional[ResumeName]:
    """Return what the name or title of a resume function contains; None for any other."""
    found = _OF_DYNAMO.match(name) or _TITLE.match(name)
    if found is None:
        return None
    line = found["line"]
    return ResumeName(found["function"], None if line is None else int(line), not name.startswith("resume_in_"))


def title(function: str, line: int) -> str:
    """Return the title of the rest of a function."""
    return f"{function}{_RESUMED_AT}{line}"


def continued(name: str) -> str:
    """Return the name of the function that a resume function continues; any other name as it is."""
    found = read(name)
    return name if found is None else found.function


def without_line(name: str) -> str:
    """Return a name that stays the same when lines above are added or removed."""
    found = read(name)
    return name if found is None else f"resume_in_{found.function}"
