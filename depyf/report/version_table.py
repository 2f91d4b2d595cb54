"""What sets the versions of one function apart: for each of them the guards that not all of them have."""

from __future__ import annotations

from typing import Sequence

from depyf.record.records import FrameRecord
from depyf.report.index_patterns import fold
from depyf.text import python_source

_MOST = 6  # conditions of one version, the shortest ones: those that a person would have written


def version_table(frames: Sequence[FrameRecord], name: str) -> list[str]:
    """Return a table of the versions of the function `name`, as lines of a heading; empty for a single version."""
    guarded = [frame for frame in frames if frame.guards]
    if len(guarded) < 2:
        return []
    conditions = [dict.fromkeys(_conditions(frame)) for frame in guarded]
    common = set(conditions[0]).intersection(*conditions[1:])
    if all(len(common) == len(own) for own in conditions):
        return [f"The {len(guarded)} versions of {name} have the same guards: beside each is why it was compiled."]
    lines = [f"What sets the {len(guarded)} versions of {name} apart; all their other guards are the same:"]
    margin = max(len(frame.compile_id) for frame in guarded) + 4
    for frame, own in zip(guarded, conditions):
        start = f"  {frame.compile_id}: ".ljust(margin)
        patterns = fold([condition for condition in own if condition not in common])
        lines += _wrapped(start, sorted([pattern.in_words for pattern in patterns], key=len))
    return lines


def _conditions(frame: FrameRecord) -> list[str]:
    return [piece for guard in frame.guards for piece in guard.test.parts or (guard.condition,)]


def _wrapped(start: str, conditions: Sequence[str]) -> list[str]:
    """Return the conditions after `start`, broken between them where the line is full."""
    pieces = list(conditions[:_MOST]) or ["(only what all of them ask for)"]
    if len(conditions) > _MOST:
        pieces.append(f"{len(conditions) - _MOST} more")
    lines = [start + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(" and ") + len(piece) <= python_source.WIDTH - len("# "):
            lines[-1] += " and " + piece
        else:
            lines.append(" " * len(start) + "and " + piece)
    return lines
