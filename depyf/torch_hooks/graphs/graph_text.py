"""Adapt the text of a graph as torch logs it to the function that runs.

Torch logs a graph with shapes, devices and the user's lines beside it: the text worth reading.  The function that runs
may take its arguments in another way: a "boxed" graph takes one list and empties it.  `like_running` gives the logged
text the signature and the first statements of the function that runs.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Tuple

from depyf.text import python_source
from depyf.text.quiet_compile import parse_quietly

_ODD_CLASS_NAME = re.compile(r"^(?P<head>\s*class )<(?P<name>\w+)>(?=\()", re.MULTILINE)


def readable(module: Any) -> str:
    """Return the graph in the form in which Dynamo logs it; shorter with a torch that lacks these options."""
    try:
        return str(module.print_readable(print_output=False, include_stride=True, include_device=True))
    except TypeError:
        return str(module.print_readable(print_output=False))


def with_plain_class_names(text: str) -> str:
    """Return `text` with valid names for the classes that torch calls `class <lambda>(...)`."""
    if "class <" not in text:
        return text
    return _ODD_CLASS_NAME.sub(lambda match: f"{match.group('head')}_{match.group('name')}_", text)


def as_python(text: str) -> str:
    """Return `text` as a valid Python file: unchanged if it is one, else as comments."""
    text = with_plain_class_names(text)
    if python_source.is_module(text):
        return text
    return "".join(line + "\n" for line in python_source.comment(text.rstrip("\n")))


def like_running(logged: str, running: str) -> str | None:
    """Return `logged` with the signature of `running`, the source of the forward that runs.

    None where more differs than the signature and statements at the start of `running`, as far as the targets of the
    assignments show it: the caller compiles the text and compares its code with what runs.
    """
    shown, real = _forward(logged), _forward(running)
    if shown is None or real is None:
        return None
    expected = [_targets(statement) for statement in shown.body if not _declares_only(statement)]
    actual = [_targets(statement) for statement in real.body]
    extra = len(actual) - len(expected)
    if extra < 0 or actual[extra:] != expected:
        return None
    return _splice(logged, shown, running, real, real.body[:extra])


def _forward(text: str) -> ast.FunctionDef | None:
    try:
        tree = parse_quietly(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            return node
    return None


def _targets(statement: ast.stmt) -> Tuple[str | None, ...]:
    """Return the names that a statement assigns, annotated or not; None for each target that is no name."""
    if isinstance(statement, ast.Assign):
        return tuple([getattr(target, "id", None) for target in statement.targets])
    return (getattr(statement.target, "id", None),) if isinstance(statement, ast.AnnAssign) else ()


def _declares_only(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and statement.value is None


def _splice(
    logged: str, shown: ast.FunctionDef, running: str, real: ast.FunctionDef, first: List[ast.stmt]
) -> str | None:
    lines, running_lines = (text.rstrip("\n").split("\n") for text in (logged, running))
    end = _end_of_signature(lines, shown)
    if end is None:
        return None
    indent = " " * (shown.col_offset + 4)
    annotations = _annotations(lines, shown)
    parameters = ", ".join(parameter.arg for parameter in real.args.args)
    header = [" " * shown.col_offset + f"def forward({parameters}):"]
    for statement in first:
        text = python_source.segment_of(running_lines, statement)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in annotations:
            text = text.replace(target.id, f"{target.id}: {annotations[target.id]}", 1)
        header.extend(indent + line for line in text.splitlines())
    return "\n".join(lines[: shown.lineno - 1] + header + lines[end:]) + "\n"


def _annotations(lines: List[str], shown: ast.FunctionDef) -> Dict[str, str]:
    found = {}
    for parameter in shown.args.args:
        if parameter.annotation is not None:
            found[parameter.arg] = python_source.segment_of(lines, parameter.annotation)
    return found


def _end_of_signature(lines: List[str], function: ast.FunctionDef) -> int | None:
    """Return the index of the line after the signature, which ends on the `def` line or on one of its own."""
    for index in range(function.lineno - 1, function.body[0].lineno - 1):
        if lines[index].rstrip().endswith("):"):
            return index + 1
    return None
