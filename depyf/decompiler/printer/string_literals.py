"""String literals: text between quotes, and docstrings in triple quotes."""

from __future__ import annotations

import re

from depyf.decompiler.printer.syntax_limits import SyntaxLimits


def _escape_pieces(value: str, pieces: re.Pattern[str]) -> str:
    """Escape everything that is not printable, but no quote: `pieces` never match a single quote."""
    return pieces.sub(lambda match: repr(match.group())[1:-1], value)


_ON_ONE_LINE = re.compile("[^']+")
_ON_MANY_LINES = re.compile("[^'\n\t]+")


def escaped(value: str, quote: str) -> str:
    """Return `value` as it is written between two `quote`s, on one line."""
    return _escape_quotes(_escape_pieces(value, _ON_ONE_LINE), quote)


def _escape_quotes(body: str, quote: str) -> str:
    if len(quote) == 1:
        return body.replace(quote, "\\" + quote)
    last = "\\" + quote[0]
    if body.endswith(quote[0]):
        return body[:-1].replace(quote, last * 3) + last
    return body.replace(quote, last * 3)


def docstring(value: str, indent: str, limits: SyntaxLimits) -> str:
    """Return the literal, in triple quotes and with real line breaks, that compiles to the docstring `value`.

    Where the compiler dedents docstrings, the lines are indented like the code around them. (A docstring that
    such a compiler changes in any case has no spelling; it is printed unchanged.)
    """
    body = _escape_quotes(_escape_pieces(value, _ON_MANY_LINES), '"""')
    if limits.docstrings_are_dedented and _can_be_indented(value):
        first, *others = body.split("\n")
        last = others.pop()
        lines = [indent + line if line else line for line in others]
        body = "\n".join([first, *lines, indent + last])
    return '"""' + body + '"""'


def _can_be_indented(value: str) -> bool:
    """Return whether dedenting restores `value` after all lines but the first were indented equally."""
    first, *others = value.split("\n")
    filled = [line for line in others if line.strip(" ")]
    return "\t" not in value and first[:1] != " " and bool(filled) and any(line[0] != " " for line in filled)
