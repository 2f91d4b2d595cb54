"""Leave out repeated lines of a long generated text, such that the rest compiles exactly when all of it does.

The graph of a model with many layers repeats a few lines over and over, with other numbers.  Whether it is Python
is seen from one line of each shape: a complete line that follows a complete line at the same indentation, and that
differs from a line seen before in nothing but numbers (`07` is none, so leading zeros count), can be left out.  The
same holds for lines of texts that were compiled before.
"""

from __future__ import annotations

import keyword
import re
from typing import Dict, List, Set, Tuple

from depyf.text.quoted_strings import is_closed

_SHORT = 4000  # characters; compiling less costs no more than comparing lines
_DIGITS = str.maketrans("23456789", "11111111")
# What continues in the next line, or means something else in another place: such texts are left alone.
_ODD = ('"""', "'''", "\\\n", "\r", "\f", "yield", "await")
_COMMENT = "  # "  # where one begins behind code, unless inside a string
_FIRST_WORD = re.compile(r"\s*([^\W\d]\w*)")
_BRACKETS = re.compile(r"[][(){}]")


class LineShapes:
    """The shapes of whole statements in texts that were compiled: a memo that saves time and changes no result."""

    def __init__(self, most: int = 20_000) -> None:
        self._whole: Set[str] = set()
        self._most = most

    def thinned(self, text: str) -> Tuple[str, List[str]]:
        """Return the deduplicated text and the new line shapes; the text unchanged when unsafe."""
        if len(text) < _SHORT or any(sign in text for sign in _ODD):
            return text, []
        kept: List[str] = []
        complete: Dict[str, bool] = {}  # shape of a line -> whether it is a whole statement
        depth = 0  # of brackets that are open
        indentation, follows_complete = "", False
        for line, shape in zip(text.split("\n"), _shaped(text).split("\n")):
            body = shape.lstrip(" ")
            if not body or body[0] == "#":
                continue
            if _COMMENT in shape:  # its brackets are none of the code's
                shape = shape[: shape.index(_COMMENT)]
                body = shape.lstrip(" ")
                if shape.count("'") % 2 or shape.count('"') % 2:
                    return text, []
            own = shape[: len(shape) - len(body)]
            if depth == 0:
                known = True if shape in self._whole else complete.get(shape)
                if known and follows_complete and own == indentation:
                    continue
                if known is None:
                    known = complete[shape] = _is_complete(body)
                follows_complete, indentation = known, own
            if depth or not follows_complete:
                depth += sum([1 if bracket in "([{" else -1 for bracket in _BRACKETS.findall(body)])
            kept.append(line)
        return "\n".join(kept) + "\n", [shape for shape, is_whole in complete.items() if is_whole]

    def add(self, shapes: List[str]) -> None:
        """Add shapes of a text that was compiled: such lines are whole statements, wherever they follow others."""
        if len(self._whole) < self._most:
            self._whole.update(shapes)


def _shaped(text: str) -> str:
    """Return `text` with one digit for each number: 0 for those that begin with one, else 1."""
    text = text.translate(_DIGITS)
    while "11" in text or "10" in text:
        text = text.replace("11", "1").replace("10", "1")
    return text


def _is_complete(line: str) -> bool:
    """Return whether the line is whole statements, by signs that cannot mislead where the line compiles."""
    word = _FIRST_WORD.match(line)
    if word is None or keyword.iskeyword(word[1]) or line[-1] in ":\\,":
        return False
    return is_closed(line)
