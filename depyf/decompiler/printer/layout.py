"""Layout: break lines that are too long, inside brackets only.

The printer marks every place where a line may break. Marks are strings, so that joining the pieces gives the
text on one line; only when that is too long do the marks matter. The rule is the usual one: a bracket that
fits on its line stays there, any other is opened, one item to a line. Brackets so deep that their items
would start in the right half of the page stay closed.
"""

from __future__ import annotations

from typing import Sequence


class Mark(str):
    """A place where a line may break: its own text is written if it does not break, `broken` if it does."""

    broken: tuple[str, str]  # written before and after the line break
    depth: int  # +1 opens a bracket, -1 closes it, 0 stands between two items

    def __new__(cls, flat: str, before: str, after: str, depth: int) -> Mark:
        mark = super().__new__(cls, flat)
        mark.broken = (before, after)
        mark.depth = depth
        return mark


OPEN = Mark("", "", "", +1)  # after an opening bracket
OPEN_ALWAYS = Mark("\n", "", "", +1)  # after one whose content must be on lines of its own
COMMA = Mark(", ", ",", "", 0)
SPACE = Mark(" ", "", "", 0)
CLOSE = Mark("", ",", "", -1)  # before a closing bracket that may follow a comma
CLOSE_PLAIN = Mark("", "", "", -1)  # before one that may not

# Brackets that are written only if the line breaks.
OPEN_OPTIONAL = Mark("", "(", "", +1)
CLOSE_OPTIONAL = Mark("", ",", ")", -1)
CLOSE_OPTIONAL_PLAIN = Mark("", "", ")", -1)


def lay_out(pieces: Sequence[str], indent: str, width: int, step: str) -> str:
    """Return the text of one statement, broken at marks so that lines stay within `width` where possible.

    The first line comes without `indent`, every further line with it. Takes time linear in the pieces.
    """
    needed = _needed_widths(pieces)
    out: list[str] = []
    column = len(indent)
    margins = [indent]  # of the current line and of the lines of the brackets around it
    opened: list[bool] = []  # for each bracket around the current piece: is it broken
    for piece, need in zip(pieces, needed):
        if not isinstance(piece, Mark):
            out.append(piece)
            column += len(piece)
            continue
        if piece.depth > 0:
            margin = margins[-1] + step
            opened.append(piece is OPEN_ALWAYS or (column + need > width and len(margin) <= width // 2))
            margins.append(margin if opened[-1] else margins[-1])
        broken = opened[-1]
        if piece.depth < 0:
            opened.pop()
            margins.pop()
        if broken:
            before, after = piece.broken
            out.append(before + "\n" + margins[-1] + after)
            column = len(margins[-1]) + len(after)
        else:
            out.append(piece)
            column += len(piece)
    return "".join(out)


def _needed_widths(pieces: Sequence[str]) -> list[int]:
    """Return, for each mark that opens a bracket, the columns up to the next possible break after its end."""
    needed = [0] * len(pieces)
    position = 0  # of a piece's start in the unbroken text, counted from the end of the text
    next_break = 0  # position of the first mark after the piece
    ends: list[int] = []  # for each bracket around the piece: the next break after its end
    for index in range(len(pieces) - 1, -1, -1):
        piece = pieces[index]
        position += len(piece)
        if isinstance(piece, Mark):
            if piece.depth < 0:
                ends.append(next_break)
            elif piece.depth > 0:
                needed[index] = position - ends.pop()
            next_break = position
    return needed
