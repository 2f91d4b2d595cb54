"""Layout: break lines that are too long, inside brackets only.

The printer marks every place where a line may break. Marks are strings, so that joining the pieces gives the
text on one line; only when that is too long do the marks matter. The rule is the usual one: a bracket that
fits on its line stays there, any other is opened, one item to a line. Brackets so deep that their items
would start in the right half of the page stay closed.

Where that leaves a line too long, `lay_out_tightly` opens every bracket that has to be open, and breaks between any two
pieces inside: before an attribute, an operator or the body of a lambda. It cuts long strings in several.
"""

from __future__ import annotations

from typing import Sequence

from depyf.decompiler.printer.string_literals import split_literal


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


def widest(text: str, indent: str) -> int:
    """Return the columns of the widest line of one statement's text."""
    return max(map(len, (indent + text).split("\n")))


def lay_out_tightly(pieces: Sequence[str], indent: str, width: int, step: str) -> str:
    """Return the text of one statement, broken inside of brackets wherever a line would be wider than `width`."""
    page = _Page(indent, width, step)
    for index, (piece, need) in enumerate(zip(pieces, _needed_widths(pieces))):
        if isinstance(piece, Mark):
            page.mark(piece, need)
        elif piece:
            page.write(piece, _tail(pieces, index + 1))
    return "".join(page.out)


def _tail(pieces: Sequence[str], index: int) -> int:
    """Return the columns that what follows a piece should have on its line: of an operator, the operand after it."""
    is_operator = pieces[index - 1][:1] == " "
    columns = 0
    for following in pieces[index:]:
        if isinstance(following, Mark):
            return columns + max(len(following.broken[0]), len(following.rstrip(" ")))
        if following and (following[0] == " " or not (is_operator or following[0] in _STAYS)):
            break
        columns += len(following)
    return columns


_STAYS = "()[]{},:="  # what begins with one of these stays on the line of the piece before


class _Page:
    """The text of a statement while `lay_out_tightly` writes it."""

    def __init__(self, indent: str, width: int, step: str) -> None:
        self.out: list[str] = []
        self._width = width
        self._step = step
        self._column = len(indent)
        self._margins = [indent]  # of the current line and of the lines of the brackets around it
        self._opened: list[bool] = []  # for each bracket around the current piece: is it broken

    def mark(self, mark: Mark, need: int) -> None:
        if mark.depth > 0:
            is_broken = mark is OPEN_ALWAYS or self._column + need > self._width
            self._opened.append(is_broken)
            self._margins.append(self._further() if is_broken else self._margins[-1])
        is_broken = self._opened[-1]
        if mark.depth < 0:
            self._opened.pop()
            self._margins.pop()
        if is_broken:
            before, after = mark.broken
            self._add(before)
            self._break(self._margins[-1])
            self._add(after)
        else:
            self._add(mark)

    def write(self, piece: str, tail: int) -> None:
        if not any(self._opened):  # a line break would end the statement
            self._add(piece)
            return
        is_at_start = self._column <= len(self._margins[-1])
        if self._column + len(piece.rstrip(" ")) + tail > self._width and piece[0] not in _STAYS and not is_at_start:
            room = self._width - self._column - tail
            if room < self._width // 2 or len(split_literal(piece, room)) == 1:
                self._break(self._further())
                piece = piece.lstrip(" ")
        margin = self._margins[-1] if self._column <= len(self._margins[-1]) else self._further()
        first, *others = split_literal(piece, self._width - self._column - tail)
        self._add(first)
        for part in others:
            self._break(margin)
            self._add(part)

    def _further(self) -> str:
        """Return the margin of lines that continue the current one; not in the right half of the page."""
        margin = self._margins[-1] + self._step
        return margin if len(margin) <= self._width // 2 else self._margins[-1]

    def _add(self, text: str) -> None:
        self.out.append(text)
        self._column += len(text)

    def _break(self, margin: str) -> None:
        if self.out:
            self.out[-1] = self.out[-1].rstrip(" ")
        self.out.append("\n" + margin)
        self._column = len(margin)


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
