"""The guards of one version as one function that returns whether all of them hold."""

from __future__ import annotations

import os
import re
from typing import Sequence

from depyf.record import FrameRecord, GuardRecord, Location
from depyf.report import python_text
from depyf.report.signature import Signature

# No tensor may carry what `mark_dynamic` and its like leave on it: one guard for each tensor, always the same.
_NO_MARKS = re.compile(r"not any\(hasattr\((?P<tensor>.*), f'_dynamo_\{mark\}_indices'\) for mark in \(.*\)\)$")


def guard_function(frame: FrameRecord, name: str, signature: Signature, file: str) -> list[str]:
    """The lines of the function; conditions that Python cannot say are comments in it."""
    lines = [f"def {name}({', '.join(signature.names)}):"]
    if not frame.guards:
        return [*lines, "    # (the guards of this version were not seen)", "    return True"]
    marks = [guard for guard in frame.guards if _NO_MARKS.match(guard.condition)]
    guards = [guard for guard in frame.guards if not _NO_MARKS.match(guard.condition)]
    pieces_of = {guard.condition: _pieces(guard) for guard in guards}
    if not any(pieces_of.values()):
        return lines + _words(guards, "    ") + _about_marks(marks, "    ") + ["    return True"]
    lines.append("    return (")
    first = True
    for heading, group in _groups(guards, file):
        lines += python_text.comment(heading, "        ")
        pieces = [piece for guard in group for piece in pieces_of[guard.condition]]
        lines += python_text.filled(pieces, "        ", first)
        first = first and not pieces
        lines += _words([guard for guard in group if not pieces_of[guard.condition]], "        ")
    return [*lines, *_about_marks(marks, "        "), "    )"]


def _about_marks(guards: Sequence[GuardRecord], indent: str) -> list[str]:
    tensors = [match["tensor"] for match in (_NO_MARKS.match(guard.condition) for guard in guards) if match]
    if not tensors:
        return []
    return python_text.comment(f"also: no dimension of {', '.join(tensors)} is marked dynamic or static", indent)


def _groups(guards: Sequence[GuardRecord], file: str) -> list[tuple[str, list[GuardRecord]]]:
    """Each with its heading: those of lines of the user's, those of torch's own lines, and the rest."""
    torch = [guard for guard in guards if guard.from_torch]
    ambient = [guard for guard in guards if guard.location is None]
    users = [guard for guard in guards if not guard.from_torch and guard.location is not None]
    groups = _by_line(users, file)
    groups += [("from torch itself:", torch)] if torch else []
    return groups + ([("Dynamo itself:", ambient)] if ambient else [])


def asked_by(location: Location | None, file: str) -> str:
    """The line, without the folder when it is in `file`; empty where nobody knows."""
    if location is None:
        return ""
    name = os.path.basename(file) if location.file == file else location.file
    place = f"{name}:{location.line}"
    return f"{place}: {location.code.strip()}" if location.code.strip() else place


def _pieces(guard: GuardRecord) -> list[str]:
    """The conditions that a guard consists of; none for one that Python cannot say."""
    if not guard.is_python or "\n" in guard.condition:
        return []
    try:
        return python_text.conjunction(guard.condition)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _words(guards: Sequence[GuardRecord], indent: str) -> list[str]:
    return [line for guard in guards for line in python_text.comment("also: " + guard.condition, indent)]


def _by_line(guards: Sequence[GuardRecord], file: str) -> list[tuple[str, list[GuardRecord]]]:
    """Those that the same line asked for, together, with that line."""
    groups: dict[str, list[GuardRecord]] = {}
    for guard in guards:
        groups.setdefault(asked_by(guard.location, file), []).append(guard)
    return list(groups.items())
