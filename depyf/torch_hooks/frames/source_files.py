"""Read the text of a function from the file that it was compiled from.

`inspect.getsource` finds the end of a function by tokenizing it, which is slow.  Most functions end before the first
line that is not indented more than their `def`.  Where such a part of the file leaves no bracket and no string open, or
compiles, it is the whole function.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import textwrap
import tokenize
from types import CodeType
from typing import List, Tuple

from depyf.text import python_source
from depyf.text.quoted_strings import is_closed
from depyf.torch_hooks.frames.source_fit import is_source

_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)")
_DECORATOR = re.compile(r"[ \t]*@")
_DECORATOR_NAME = re.compile(r"[ \t]*@(?:\w+\.)*(\w+)")
_MOST_DECORATORS = 40  # lines
_UNREADABLE = (OSError, TypeError, ValueError, SyntaxError, tokenize.TokenError)


def definition_of(code: CodeType) -> str:
    """Return the text of a function that is a plain definition in its file; empty where `text_of` is needed."""
    lines = lines_of_file(code.co_filename)
    first = code.co_firstlineno - 1
    if not 0 <= first < len(lines):
        return ""
    start = first
    while start < len(lines) and _DECORATOR.match(lines[start]) is not None:
        start += 1
    found = _DEFINITION.match(lines[start]) if start < len(lines) else None
    if found is None:
        return ""
    block = lines[first : _end_of_block(lines, start, found[1])]
    text = _without_indentation(block, found[1])
    is_whole = is_closed(text) and not text.endswith("\\\n") and "nonlocal" not in text
    is_definition = (is_whole and found[2] == code.co_name) or python_source.is_module(text)
    return text if is_definition and is_source("".join(block), code) else ""


def decorator_names(code: CodeType) -> Tuple[str, ...]:
    """Return the last names of the decorators before a definition: `no_grad` of `@torch.no_grad()`."""
    lines, first = lines_of_file(code.co_filename), code.co_firstlineno - 1
    found: List[str] = []
    for line in lines[first : first + _MOST_DECORATORS]:
        if _DEFINITION.match(line) is not None:
            break
        match = _DECORATOR_NAME.match(line)
        found += [match[1]] if match is not None else []
    return tuple(found)


def lines_of_file(file: str) -> List[str]:
    """Return the lines of a source file, or of a notebook's cell; none where it cannot be read."""
    try:
        return linecache.getlines(file)
    except ValueError:  # no file has that name
        return []


def _end_of_block(lines: List[str], start: int, indentation: str) -> int:
    """Return the index after the last line that is indented more than the `def` at `start`, comments included."""
    end = start + 1
    for index in range(start + 1, len(lines)):
        body = lines[index].lstrip(" \t")
        if body in ("\n", "", "\r\n"):
            continue
        if len(lines[index]) - len(body) > len(indentation):
            end = index + 1
        elif not body.startswith("#"):
            break
    return end


def _without_indentation(lines: List[str], indentation: str) -> str:
    """Return the lines without their indentation; empty where a string may hold some of the lines."""
    if any(line.strip() and not line.startswith(indentation) for line in lines):
        return ""
    text = "".join([line[len(indentation) :] if line.strip() else "\n" for line in lines])
    return "" if '"""' in text or "'''" in text or "\f" in text else text


def class_of(owner: type) -> Tuple[str, int, str] | None:
    """Return the file, the line and the text of a class that is defined once in its module; None for others."""
    file = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if not isinstance(file, str):
        return None
    head = re.compile(rf"[ \t]*class[ \t]+{re.escape(owner.__name__)}\b")
    found = [number for number, line in enumerate(lines_of_file(file), 1) if head.match(line) is not None]
    text = text_at(file, found[0]) if len(found) == 1 else ""
    return (file, found[0], text) if text else None


def text_of(code: CodeType) -> str:
    """Return the text of a function, or the statement that holds a lambda; empty when its file cannot be read."""
    try:
        text = inspect.getsource(code)
        return textwrap.dedent(text) if is_source(text, code) else ""
    except _UNREADABLE:
        return ""


def text_at(file: str, line: int) -> str:
    """Return the block that starts at a line of a file; empty when it cannot be read."""
    try:
        return textwrap.dedent("".join(inspect.getblock(linecache.getlines(file)[line - 1 :])))
    except _UNREADABLE:
        return ""
