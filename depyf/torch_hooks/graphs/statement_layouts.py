"""Find the statements of the function that runs in the text that torch logs of it, without compiling that text.

Torch prints one statement on a line, for both. The logged one has the tensor's type beside the name, comments between
the statements, and line breaks where it would be too long; the tokens are the same otherwise, so the code is, too.
"""

from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Dict, List, Sequence, Tuple

from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.recompile.moved_statements import Layout, moved
from depyf.text.quiet_compile import compile_quietly

_INDENT = 4  # of a statement in the function that runs; in the logged one twice that, as it is inside of a class
_CLASS = re.compile(r"class \w+\(torch\.nn\.Module\):")
_TYPE = re.compile(r': "[^"\\]*"')
_UNBROKEN = ((0, 0, _INDENT),)
_COPY = " = \\\n" + " " * (3 * _INDENT)  # between the names where `name = other_name` is broken


def moved_to_log(code: CodeType, source: str, logged: str, broken: Sequence[str], filename: str) -> CodeType | None:
    """Return `code`, which was compiled from `source`, with the positions of its statements in a logged text.

    `broken`: each line of that text as it is in the file `filename`, below the first line of that. None where it is
    not certain that the two texts are the same function.
    """
    if any(isinstance(constant, CODE_TYPES) for constant in code.co_consts):
        return None
    if not (source.isascii() and logged.isascii()) or "\\" in source:
        return None
    if any(mark * 3 in source for mark in "\"'"):
        return None  # a text of several lines
    lines, shown = source.split("\n"), logged.split("\n")
    signature = f"    def {code.co_name}({', '.join(code.co_varnames[: code.co_argcount])}):"
    if not 3 <= len(shown) == len(broken) or not _CLASS.fullmatch(shown[0]) or _TYPE.sub("", shown[1]) != signature:
        return None
    if not "".join(lines[code.co_firstlineno - 1 : code.co_firstlineno]).startswith("def "):
        return None
    first_line = 3  # below the first line of the file and that of the class
    found = _statements(lines, code.co_firstlineno, shown, broken, first_line + 1 + broken[1].count("\n"))
    return None if found is None else moved(code, filename, first_line, found)


def _statements(
    lines: List[str], first: int, logged: Sequence[str], broken: Sequence[str], place: int
) -> Dict[int, Tuple[int, Layout]] | None:
    """Return where the statements are whose lines begin at index `first`, by line; `place` is the line of the first."""
    found: Dict[int, Tuple[int, Layout]] = {}
    layouts: Dict[Tuple[int, int], Layout] = {}
    statements = [(number, line) for number, line in enumerate(lines[first:], first + 1) if line and not line.isspace()]
    waiting = iter(statements)
    margin = " " * (2 * _INDENT)
    for line, shown in zip(logged[2:], broken[2:]):
        if not line or line.startswith(margin + "#") or line.isspace():
            place += 1 + shown.count("\n")
            continue
        number, statement = next(waiting, (0, ""))
        end = extra = 0  # of the name with a type in the logged line, and how long the type is
        if line[_INDENT:] != statement:
            extra = len(line) - len(statement) - _INDENT
            end = line.find(': "', 0) - _INDENT
            if not _is_typed(line, statement, end, extra):
                return None
        if shown == line:
            layout = layouts.get((end, extra)) or _first_parts(end, extra)
            layouts[end, extra] = layout
        elif not extra and shown == line.replace(" = ", _COPY, 1):
            start = line.index(" = ") + len(" = ") - _INDENT
            layout = (*_UNBROKEN, (start, 1, 3 * _INDENT - start))
        else:
            layout = _broken_layout(line, shown.split("\n"), statement, _first_parts(end, extra), extra)
            if not layout:
                return None
        found[number] = place, layout
        place += 1 + layout[-1][1]
    return found if next(waiting, None) is None else None


def _is_typed(line: str, statement: str, end: int, extra: int) -> bool:
    """Return whether `line` is the statement with a type of that many characters beside the target that ends there."""
    if end <= 0 or extra <= 0 or line[_INDENT : _INDENT + end] != statement[:end]:
        return False
    type_end = _INDENT + end + extra
    before, _, target = statement[_INDENT:end].rpartition(";  ")
    return (
        target.isidentifier()
        and not ("'" in before or '"' in before)
        and line[type_end:] == statement[end:]
        and line.startswith(" = ", type_end)
        and _TYPE.fullmatch(line, _INDENT + end, type_end) is not None
    )


def _first_parts(end: int, extra: int) -> Layout:
    """Return the parts of a line with a type, which is not broken."""
    return (*_UNBROKEN, (end + 1, 0, _INDENT + extra)) if extra else _UNBROKEN


def _broken_layout(line: str, shown: List[str], statement: str, first: Layout, extra: int) -> Layout:
    """Return the parts of a line that is broken into those of `shown`; none where that is not certain."""
    if _joins_loads() or ")." in statement or "]." in statement:
        return ()  # CPython finds a method that is on another line than its object elsewhere
    parts = list(first)
    position = 0
    for number, one in enumerate(shown):
        body = one.lstrip(" ") if number else one
        column = len(one) - len(body)
        if body.endswith(" \\"):
            body = body[:-2]
        if number:  # a line may end where a statement does
            position += len(next((gap for gap in (" ", ";  ") if line.startswith(gap, position)), ""))
        if not line.startswith(body, position):
            return ()
        if number:
            start = position - _INDENT - extra
            parts.append((start, number, column - start))
        position += len(body)
        if not number and position < _INDENT + first[-1][0] + extra:
            return ()  # the type is broken, too
    return tuple(parts) if position == len(line) else ()


@functools.lru_cache(maxsize=None)
def _joins_loads() -> bool:
    """Return whether this Python joins two loads into one instruction where both are on one line, as 3.13 does."""
    one, two = (
        compile_quietly(f"def f(x, y): return f(x,{space}y)", "<text>").co_consts[0].co_code for space in (" ", "\n")
    )
    return bool(one != two)
