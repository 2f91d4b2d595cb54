"""String constants inside a text: where they are, and whether one, or a bracket, is still open at its end."""

from __future__ import annotations

import re

STRING = r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_COMPLETE_STRING = re.compile(STRING, re.DOTALL)


def opens_string(text: str) -> bool:
    """Return whether a text constant is open at the end of `text`."""
    if '"' not in text and "\\" not in text:
        return text.count("'") % 2 == 1
    rest = without_strings(text)
    return "'" in rest or '"' in rest


def is_closed(piece: str) -> bool:
    """Return whether no bracket and no text constant that began in `piece` is open at its end."""
    return (
        piece.count("(") == piece.count(")")
        and piece.count("[") == piece.count("]")
        and piece.count("{") == piece.count("}")
        and piece.count("'") % 2 == 0
        and piece.count('"') % 2 == 0
    )


def without_strings(text: str) -> str:
    """Return `text` without the text constants in it."""
    return _COMPLETE_STRING.sub("", text) if "'" in text or '"' in text else text
