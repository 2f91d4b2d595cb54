"""Texts that torch and Python print: find expressions in them, and remove what varies from run to run."""

from __future__ import annotations

import ast
import functools
import re

from depyf.text.python_source import segment, simple_tests
from depyf.text.quoted_strings import without_strings


def is_expression(text: str) -> bool:
    """Return whether `text` parses as one Python expression on one line."""
    if "\n" in text:
        return False
    if simple_tests(text):
        return True
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_CLASS = re.compile(r"<(?:class|enum) '([^']*)'>")
_RUN_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{6,}")
_RUN_ID = re.compile(r"(?<!\d)(?<!\d\.)\d{10,}(?!\d*\.\d)")  # the digits of a float are the program's own
_VARIES = re.compile(r"0x|\d{10}")  # few texts have one: seen at once


@functools.lru_cache(maxsize=256)
def type_from_repr(text: str) -> str:
    """Return the name in the repr of a class: `<class 'torch.Tensor'>` -> `torch.Tensor`; empty for another text."""
    match = _CLASS.search(text)
    return match.group(1) if match else ""


def scrub(text: str) -> str:
    """Return `text` without what varies from run to run: addresses and object ids."""
    return text if _VARIES.search(text) is None else _RUN_ID.sub("...", _RUN_ADDRESS.sub("", text))


def with_sorted_sets(text: str) -> str:
    """Return `text` with each set display sorted: the order in which a set prints varies from run to run."""
    if "{" not in text or "{" not in without_strings(text) or not is_expression(text):
        return text
    displays = [node for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Set)]
    # From the right, hence inner ones first. Sorting keeps the length, so other positions stay true.
    for display in sorted(displays, key=lambda node: node.col_offset, reverse=True):
        before = segment(text, display)
        elements = [segment(text, element) for element in display.elts]
        after = "{" + ", ".join(sorted(elements)) + "}"
        if len(after) == len(before):
            text = text.replace(before, after, 1)
    return text
