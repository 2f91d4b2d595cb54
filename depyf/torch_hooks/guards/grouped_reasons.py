"""Reasons for a recompile that differ only in the version that did not fit and in the value it was compiled for.

A function that was compiled for n = 0, 1, 2 ... has one such reason for each earlier version, every time it is compiled
again.  Told one by one they would fill a file with the square of the number of versions; here they become one.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

_STACK = re.compile(r"\s*\nUser stack trace:.*", re.DOTALL)
# The value that a version was compiled for, in the forms in which torch says it; an object is told by its id.
_THEN = re.compile(
    r" [=!]= (?:-?\d[\w.]*|'[^'\\\n]*'|True|False|None)(?=\s|$)"
    r"| expected [^\s,]+(?=, actual)"
    r"|, (?:\d+\)|\.\.\.\)|type=<[^<>]*>)"
)
_MOST_RUNS = 6
_MOST_VALUES = 4


class Alike(NamedTuple):
    """One reason, and what is said of the others that are like it."""

    version: str  # compile id of the newest version; empty where torch named none
    text: str  # what torch says of it
    others: str = ""  # the other versions: "0/0 to 0/57"
    some: Tuple[str, ...] = ()  # what torch says of the newest ones of those, and of the oldest
    is_all: bool = True  # whether that is all of them

    def listed(self, values: Sequence[str]) -> str:
        """The values that `some` tell; empty where one of them is not known."""
        if not all(values):
            return ""
        if len(set(values)) == 1:
            return values[0]
        return ", ".join(values[:-1]) + (", " if self.is_all else " ... ") + values[-1]


@functools.lru_cache(maxsize=1)  # two readers ask about each payload in turn
def alike(payload: str) -> Tuple[Alike, ...]:
    """Torch's texts in the payload of a `recompile_reasons` event, newest first, those that are alike as one.

    The payload is one text or a JSON list of them, one for each version that did not fit: `0/1: L['n'] == 3`.
    """
    try:
        value = json.loads(payload)
    except ValueError:
        value = payload
    groups: Dict[str, List[Tuple[str, str]]] = {}
    for reason in value if isinstance(value, list) else [value]:
        version, text = _split(str(reason))
        condition, _, origin = text.partition("  # ")
        groups.setdefault(_THEN.sub("", condition.rstrip()) + origin, []).append((version, text))
    return tuple(map(_together, groups.values()))


def _split(reason: str) -> Tuple[str, str]:
    """`0/1: the rest` -> the compile id and the rest; no id where torch named none."""
    text = (_STACK.sub("", reason) if "User stack trace:" in reason else reason).strip()
    version, separator, rest = text.partition(": ")
    return (version, rest) if separator and "/" in version and " " not in version else ("", text)


def _together(group: List[Tuple[str, str]]) -> Alike:
    (version, text), *others = group
    texts = [other for _, other in others]
    is_all = len(texts) <= _MOST_VALUES + 1
    some = texts if is_all else [*texts[:_MOST_VALUES], texts[-1]]
    return Alike(version, text, _runs([name for name, _ in others]), tuple(some), is_all)


def _runs(versions: Sequence[str]) -> str:
    """Compile ids, newest first, in few words, oldest first: `0/0 to 0/57, 0/60`."""
    found: List[Tuple[str, str]] = []  # the first and the last of those that follow each other
    expected = ""
    for version in reversed(versions):
        found[-1:] = [(found[-1][0], version)] if version == expected else [*found[-1:], (version, version)]
        function, _, number = version.rpartition("/")
        expected = f"{function}/{int(number) + 1}" if number.isdecimal() else ""
    texts = [first if first == last else f"{first} to {last}" for first, last in found]
    if len(texts) > _MOST_RUNS:
        texts[_MOST_RUNS - 2 :] = [f"{texts[_MOST_RUNS - 2]} ... {texts[-1]} ({len(versions)} versions)"]
    return ", ".join(texts)
