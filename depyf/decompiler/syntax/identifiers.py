"""Identifiers: names that source text can spell, in place of those that it cannot."""

from __future__ import annotations

import keyword
import re

_NO_WORD = re.compile(r"\W")


def spelled(name: str) -> str:
    """Return a variable's name in text: one that no source can spell (`.0`, pytest's `@py_assert1`) gets a stand-in."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "__implicit_" + _NO_WORD.sub("_", name).strip("_")


def shown_name(function: str) -> str:
    """Return a function's name in text, without what no source can spell (`resume_in_<lambda>_at_3`)."""
    if function.isidentifier() and not keyword.iskeyword(function):
        return function
    words = [word for word in _NO_WORD.split(function) if word]
    name = "_".join(words).replace("___", "_").replace("__", "_") or "function"
    return f"function_{name}" if keyword.iskeyword(name) or not name.isidentifier() else name
