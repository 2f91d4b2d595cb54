"""Texts brought to one line of a length that a person reads."""

from __future__ import annotations

LONGEST = 300


def shortened(text: str) -> str:
    """Return `text` on one line, cut where it is too long to read."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " ..."


def printable(text: str) -> str:
    """Return `text` with escapes for the characters that a terminal or a parser would act on."""
    return text if text.isprintable() else "".join([one if one.isprintable() else ascii(one)[1:-1] for one in text])
