"""The exception of a stage that has no form for the program at hand."""

from __future__ import annotations


class Unstructured(Exception):
    """The program has a shape that this stage has no statement or expression for: the next rung is tried."""
