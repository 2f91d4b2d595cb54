"""Texts brought to one line of a length that a person reads."""

from __future__ import annotations

LONGEST = 300


def shortened(text: str) -> str:
    """Return `text` on one line, cut where it is too long to read."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " ..."
