"""The exception for code that the interpreter could not run safely."""

from __future__ import annotations


class Malformed(ValueError):
    """The code object is not well formed: running it would crash the interpreter, or do what no compiler means."""
