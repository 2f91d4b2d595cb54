"""f-strings and template strings: choosing the quotes.

Before Python 3.12 the text between the braces may hold neither a backslash nor the quotes of any string
around it. So the choice is a small search, from the outermost string inwards: there are four kinds of quotes,
and a string inside the braces takes the first kind that can spell it. From 3.12 on any quotes are legal, but a
spelling that every Python reads is still preferred.
"""

from __future__ import annotations

from typing import Sequence, Union

from depyf.decompiler.printer.printable_characters import as_repr_of, is_printable_in
from depyf.decompiler.printer.string_literals import escaped
from depyf.decompiler.printer.syntax_limits import SyntaxLimits
from depyf.decompiler.syntax.literals import Unspellable

SINGLE_FIRST = ("'", '"', "'''", '"""')
DOUBLE_FIRST = ('"', "'", '"""', "'''")


class FieldOpen(str):
    """The brace that opens a field."""

    __slots__ = ()


class Literal:
    """Text outside the braces, not yet escaped."""

    __slots__ = ("in_spec", "value")

    def __init__(self, value: str, in_spec: bool) -> None:
        self.value = value
        self.in_spec = in_spec  # in a format specification, where braces cannot be doubled


class Quoted:
    """A string constant inside the braces."""

    __slots__ = ("value",)

    def __init__(self, value: str | bytes) -> None:
        self.value = value


class FString:
    """A whole f-string (prefix "f") or template string ("t"), with the pieces between its quotes."""

    __slots__ = ("pieces", "prefix")

    def __init__(self, prefix: str, pieces: Sequence[Piece]) -> None:
        self.prefix = prefix
        self.pieces: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, str) and piece[:1] == "{" and self.pieces:
                if isinstance(self.pieces[-1], FieldOpen) and not _is_empty_spec(self.pieces[:-1]):
                    self.pieces.append(" ")  # `{{` would be an escaped brace
            if piece:  # drop the marks for line breaks, which are empty
                self.pieces.append(piece)


Piece = Union[str, Literal, Quoted, FString]  # a str is code inside the braces, quotes excepted


def _is_empty_spec(pieces: Sequence[Piece]) -> bool:
    """Return whether an empty text of a format specification comes last: Python 3.12 makes it of `{{` there."""
    last = pieces[-1] if pieces else None
    return isinstance(last, Literal) and last.in_spec and not last.value


def spell_fstring(string: FString, limits: SyntaxLimits) -> str:
    """Return the text of an outermost f-string; raise `Unspellable` if the target Python has none."""
    text = _spell_within(string, (), limits)
    if limits.nested_quotes_in_fstrings and (text is None or not is_printable_in(text, limits.characters_of)):
        return _spell_freely(string, limits)
    if text is not None:
        return text
    raise Unspellable("before Python 3.12 no f-string can hold these quotes or backslashes inside its braces")


def _preference(string: FString) -> tuple[str, ...]:
    """Return the quotes in the order to try: as `repr` chooses, but double if there are strings inside."""
    if any(isinstance(piece, (Quoted, FString)) for piece in string.pieces):
        return DOUBLE_FIRST
    text = "".join([piece.value for piece in string.pieces if isinstance(piece, Literal)])
    return DOUBLE_FIRST if "'" in text and '"' not in text else SINGLE_FIRST


def _spell_literal(literal: Literal, quote: str, limits: SyntaxLimits) -> str:
    text = escaped(literal.value, quote, limits)
    if literal.in_spec:
        return text.replace("{", "\\x7b").replace("}", "\\x7d")
    return _doubled_braces(text)


def _doubled_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


# ---- the spelling that every Python reads


def _spell_within(string: FString, around: tuple[str, ...], limits: SyntaxLimits) -> str | None:
    """Return the text of an f-string inside the braces of f-strings with the quotes `around`, or None.

    The recursion is shallow: no kind of quotes can be used twice on the way down.
    """
    for quote in _preference(string):
        if not any(outer in quote for outer in around):
            body = _spell_pieces(string.pieces, quote, around, limits)
            if body is not None:
                return string.prefix + quote + body + quote
    return None


def _spell_pieces(pieces: Sequence[Piece], quote: str, around: tuple[str, ...], limits: SyntaxLimits) -> str | None:
    """Return the text between the quotes of an f-string, or None if these quotes cannot spell it."""
    out = []
    inside = (*around, quote)
    for piece in pieces:
        text: str | None
        if isinstance(piece, str):
            text = None if any(bad in piece for bad in (*inside, "\\", "\n")) else piece
        elif isinstance(piece, FString):
            text = _spell_within(piece, inside, limits)
        elif isinstance(piece, Quoted):
            text = _spell_constant(piece.value, inside)
        elif not around:
            text = _spell_literal(piece, quote, limits)
        else:
            text = _spell_inner_literal(piece, quote, around)
        if text is None:
            return None
        out.append(text)
    return "".join(out)


def _spell_inner_literal(literal: Literal, quote: str, around: tuple[str, ...]) -> str | None:
    """Return text outside the braces of an f-string that is itself inside braces, or None if it needs a backslash."""
    value = literal.value
    if not _can_stand_raw(value, quote, around) or (literal.in_spec and ("{" in value or "}" in value)):
        return None
    return _doubled_braces(value)


def _spell_constant(value: str | bytes, around: tuple[str, ...]) -> str | None:
    """Return the text of a string constant inside the braces, or None if it needs a backslash."""
    if isinstance(value, bytes):
        prefix, text = "b", value.decode("latin-1")
        if not text.isascii():
            return None
    else:
        prefix, text = "", value
    for quote in SINGLE_FIRST:
        if not any(outer in quote for outer in around) and _can_stand_raw(text, quote, around):
            return prefix + quote + text + quote
    return None


def _can_stand_raw(value: str, quote: str, around: tuple[str, ...]) -> bool:
    """Return whether `value` needs no escape between `quote`s that are themselves between `around`."""
    if any(bad in value for bad in ("\\", "\r", "\0", quote, *around)) or value.endswith(quote[0]):
        return False
    if "\n" in value and not all(len(outer) == 3 for outer in (quote, *around)):
        return False
    return value.isprintable() or not any("\ud800" <= char <= "\udfff" for char in value)


# ---- the spelling of Python 3.12 and later


def _spell_freely(root: FString, limits: SyntaxLimits) -> str:
    """Return the text with the preferred quotes for every string, whatever the quotes around it."""
    out: list[str] = []
    stack: list[tuple[Piece, str]] = [(root, "")]  # with the quotes around each piece
    while stack:
        piece, quote = stack.pop()
        if isinstance(piece, FString):
            quote = _preference(piece)[0]
            stack.append((quote, quote))
            stack.extend([(inner, quote) for inner in reversed(piece.pieces)])
            out.append(piece.prefix + quote)
        elif isinstance(piece, Literal):
            out.append(_spell_literal(piece, quote, limits))
        elif isinstance(piece, Quoted):
            out.append(as_repr_of(repr(piece.value), limits.characters_of))
        else:
            out.append(piece)
    return "".join(out)
