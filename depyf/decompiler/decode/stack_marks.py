"""Marks of stack entries (3.7 to 3.10): what a handler finds and other entries that carry nothing of their own."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

# Marks of stack entries. Those in ERASED are no entries of micro-ops.
TYPE, TRACEBACK, OLD = "type", "traceback", "old"
UNUSED = "unused"  # the None below a `try` of 3.8
WAY = "way"  # how a `finally` body of 3.8 is entered: NULL, or where to return to
SUBJECT = "subject"  # of a mapping pattern, after COPY_DICT_WITHOUT_KEYS
VALUE, PREVIOUS, LASTI = "value", "previous", "lasti"
KEYS = "keys "  # of a mapping pattern, and how many they are
ERASED = frozenset({TYPE, TRACEBACK, OLD, SUBJECT, UNUSED, WAY})

Marks = Tuple[Tuple[int, str], ...]  # (position from the bottom, mark), ascending


class Block(NamedTuple):
    """One entry of the block stack."""

    # "finally", "with"; in a handler: "handler", "entry" where it begins, "bare" if the exception is not saved there.
    kind: str
    target: int  # index of the handler's first op
    level: int  # depth of the stack when it was pushed
    has_lasti: bool  # whether the handler finds the offset of the instruction below the exception, as in 3.11


class Context(NamedTuple):
    """An op as reached on some paths."""

    at: int  # index of the op
    depth: int
    marks: Marks
    blocks: Tuple[Block, ...]


def is_object(mark: str) -> bool:
    """Return whether ops may use an entry as they use any other."""
    return mark == VALUE or mark.startswith(KEYS)


def below(marks: Marks, depth: int) -> Marks:
    """Return the marks of the entries below a depth."""
    if not marks or marks[-1][0] < depth:
        return marks
    return tuple([entry for entry in marks if entry[0] < depth])


def mark_at(marks: Marks, place: int, above: bool = False) -> Optional[str]:
    """Return the mark of an entry, or of one above it as well; None if it has none."""
    for at, mark in reversed(marks):
        if at == place or (above and at > place):
            return mark
    return None


def erased_above(marks: Marks, place: int) -> int:
    """Return how many entries above a place are none of micro-ops."""
    return len([0 for at, mark in marks if at > place and mark in ERASED])
