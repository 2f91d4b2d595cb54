"""String literals: text between quotes, and docstrings in triple quotes; literals cut in two."""

from __future__ import annotations

import re
from typing import Iterator

from depyf.decompiler.printer.printable_characters import as_repr_of
from depyf.decompiler.printer.syntax_limits import SyntaxLimits


def _escape_pieces(value: str, pieces: re.Pattern[str], limits: SyntaxLimits) -> str:
    """Escape everything that is not printable, but no quote: `pieces` never match a single quote."""
    return pieces.sub(lambda match: as_repr_of(repr(match.group())[1:-1], limits.characters_of), value)


_ON_ONE_LINE = re.compile("[^']+")
_ON_MANY_LINES = re.compile("[^'\n\t]+")


def escaped(value: str, quote: str, limits: SyntaxLimits) -> str:
    """Return `value` as it is written between two `quote`s, on one line."""
    return _escape_quotes(_escape_pieces(value, _ON_ONE_LINE, limits), quote)


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
    body = _escape_quotes(_escape_pieces(value, _ON_MANY_LINES, limits), '"""')
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


_LITERAL = re.compile(r"(?P<prefix>[bf]?)(?P<quote>'''|\"\"\"|'|\")(?P<body>.*)(?P=quote)", re.DOTALL)
_CHARACTER = re.compile(r"\\(?:N\{[^}]*\}|x..|u.{4}|U.{8}|.)|[^\\]", re.DOTALL)
_STRING_INSIDE = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"|[{}]|[\\'\"]")
_FEWEST = 20  # characters of a part: shorter ones would be harder to read than a long line


def split_literal(text: str, room: int) -> list[str]:
    """Return literals of at most `room` columns that next to each other mean what the literal `text` does.

    A text that is no string or f-string, or cannot be cut, is returned as it is.
    """
    if len(text) <= room or text[:1] not in "'\"bf":
        return [text]
    found = _LITERAL.fullmatch(text)
    if found is None or "\n" in text:
        return [text]
    start, quote = found["prefix"] + found["quote"], found["quote"]
    atoms = list(_CHARACTER.findall(found["body"]) if found["prefix"] != "f" else _fields_and_text(found["body"]))
    if "".join(atoms) != found["body"]:
        return [text]
    parts = _filled(atoms, max(_FEWEST, room - len(start) - len(quote)))
    return [start + part + quote for part in parts]


def _filled(atoms: list[str], room: int) -> list[str]:
    """Return the atoms joined to parts of at most `room` columns, which end after a space if there is one."""
    parts: list[str] = []
    line: list[str] = []
    column = space = 0  # `space`: after how many atoms of the line the last space is
    for atom in atoms:
        if line and column + len(atom) > room:
            end = space or len(line)
            parts.append("".join(line[:end]))
            line = line[end:]
            column, space = sum(map(len, line)), 0
        line.append(atom)
        column += len(atom)
        if atom == " ":
            space = len(line)
    return [*parts, "".join(line)]


def _fields_and_text(body: str) -> Iterator[str]:
    """Yield the characters of an f-string's text and its whole fields; stop where a field cannot be followed."""
    position = 0
    while position < len(body):
        if body.startswith(("{{", "}}"), position):
            yield body[position : position + 2]
            position += 2
        elif body[position] == "{":
            end = _end_of_field(body, position)
            if not end:
                return
            yield body[position:end]
            position = end
        else:
            found = _CHARACTER.match(body, position)
            if found is None:
                return
            yield found[0]
            position = found.end()


def _end_of_field(body: str, start: int) -> int:
    depth = 0
    for found in _STRING_INSIDE.finditer(body, start):
        if found[0] in ("\\", "'", '"'):
            return 0
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0:
            return found.end()
    return 0
