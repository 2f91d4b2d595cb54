"""The writer of lines: indentation, blank lines, comments, docstrings, and each line's origin in the bytecode."""

from __future__ import annotations

import re
from typing import Any, Iterator, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.printer import expression_text, pattern_text
from depyf.decompiler.printer.layout import (
    CLOSE_OPTIONAL_PLAIN,
    OPEN_ALWAYS,
    OPEN_OPTIONAL,
    lay_out,
    lay_out_tightly,
    widest,
)
from depyf.decompiler.printer.parts import Parts, expand
from depyf.decompiler.printer.short_statements import ShortStatements
from depyf.decompiler.printer.statement_text import COMPOUND, SIMPLE, decorator
from depyf.decompiler.printer.string_literals import docstring
from depyf.decompiler.printer.syntax_limits import SyntaxLimits

PRINTERS = {**expression_text.PRINTERS, **pattern_text.PRINTERS}
DEFINITIONS = (s.FunctionDef, s.AsyncFunctionDef, s.ClassDef)
_AMONG_BLANK_LINES = frozenset({*DEFINITIONS, s.Comment})

# PEP 263: a comment in the first two lines of a file that matches this names the file's encoding.
ENCODING = re.compile(r"coding(?=[:=])")


class Writer:
    """Collect the lines of one text."""

    def __init__(self, limits: SyntaxLimits, step: str, width: int | None) -> None:
        self.limits = limits
        self.step = step  # one level of indentation
        self.width = width  # columns after which to break lines, or None
        self.lines: list[str] = []
        self.origins: list[int] = []
        self._short = ShortStatements(limits)

    def write_body(self, body: Sequence[s.Located], has_docstring: bool) -> None:
        """Write a body and everything in it. Each open body is a generator of the bodies below it."""
        stack = [self._body(body, 0, has_docstring)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)

    def _body(self, body: Sequence[s.Located], depth: int, has_docstring: bool) -> Iterator[Iterator[Any]]:
        indent = self.step * depth
        is_empty = True
        for index, node in enumerate(body):
            if node.__class__ in _AMONG_BLANK_LINES or body[index - 1].__class__ in _AMONG_BLANK_LINES:
                self._blank_lines_before(body, index, depth)
            short = self._short.text_of(node)
            if short is not None and (self.width is None or len(indent) + len(short) <= self.width):
                self._write_text(short, indent, node.trailing, node.origin)
                is_empty = False
                continue
            if isinstance(node, s.Comment):
                self._write_comment(node.text, indent, node.origin)
                continue
            simple = SIMPLE.get(node.__class__)
            if simple is None:
                yield from self._compound(node, indent, depth)
            elif has_docstring and is_empty and _string_of(node) is not None:
                text = docstring(_string_of(node) or "", indent, self.limits)
                self._write_text(text, indent, node.trailing, node.origin)
            else:
                self._write(simple(node, self.limits), indent, node.trailing, node.origin)
            is_empty = False
        if is_empty and depth:
            self._write(["pass"], indent)

    def _compound(self, node: s.Located, indent: str, depth: int) -> Iterator[Iterator[Any]]:
        origin = node.origin
        for item in getattr(node, "decorator_list", ()):
            self._write(decorator(item, self.limits), indent, "", origin)
            origin = -1  # only the statement's first line carries its origin
        for header, body, source, has_docstring in COMPOUND[node.__class__](node, self.limits):
            trailing = source.trailing if source is not None else ""
            if source is not node:
                origin = source.origin if source is not None else -1
            self._write(header, indent, trailing, origin)
            yield self._body(body, depth + 1, has_docstring)

    def _blank_lines_before(self, body: Sequence[s.Located], index: int, depth: int) -> None:
        """Write the blank lines of PEP 8 around definitions and the comments above them."""
        if index == 0:
            return
        previous, node = body[index - 1], body[index]
        is_separated = isinstance(previous, DEFINITIONS)
        if not is_separated and not isinstance(previous, s.Comment):
            while isinstance(node, s.Comment) and index + 1 < len(body):
                index += 1
                node = body[index]
            is_separated = isinstance(node, DEFINITIONS)
        if is_separated:
            count = 1 if depth else 2
            self.lines.extend([""] * count)
            self.origins.extend([-1] * count)

    def _write(self, parts: Parts, indent: str, trailing: str = "", origin: int = -1) -> None:
        pieces = expand(parts, PRINTERS, self.limits)
        text = "".join(pieces)
        if self.width is not None and (len(indent) + len(text) > self.width or OPEN_ALWAYS in pieces):
            text = lay_out(pieces, indent, self.width, self.step)
            if widest(text, indent) > self.width:
                text = self._in_width(parts, pieces, indent, self.width)
        self._write_text(text, indent, trailing, origin)

    def _in_width(self, parts: Parts, pieces: Sequence[str], indent: str, width: int) -> str:
        """Return the text of a statement broken wherever it has to be, its value in parentheses if that helps."""
        text = lay_out_tightly(pieces, indent, width, self.step)
        last = next((index for index in (-1, -2) if len(parts) >= -index and isinstance(parts[index], tuple)), None)
        if last is None or widest(text, indent) <= width or pieces[0] == "@":
            return text
        value = expand([parts[last]], PRINTERS, self.limits)
        if value[0] is OPEN_OPTIONAL:
            return text
        wrapped = [*expand(parts[:last], PRINTERS, self.limits), OPEN_OPTIONAL, *value, CLOSE_OPTIONAL_PLAIN]
        wrapped += expand(parts[last:][1:], PRINTERS, self.limits)
        return min(text, lay_out_tightly(wrapped, indent, width, self.step), key=lambda one: widest(one, indent))

    def _write_text(self, text: str, indent: str, trailing: str, origin: int) -> None:
        if trailing:
            text += "  " + _comment(" ".join(trailing.splitlines()))
        if "\n" in text:
            first, *others = text.split("\n")
            self.lines += [indent + first, *others]
            self.origins += [origin, *[-1] * len(others)]
        else:
            self.lines.append(indent + text)
            self.origins.append(origin)

    def _write_comment(self, text: str, indent: str, origin: int) -> None:
        for line in text.splitlines() or [""]:
            comment = _comment(line)
            if len(self.lines) < 2:
                comment = ENCODING.sub("coding ", comment)
            self.lines.append(indent + comment)
            self.origins.append(origin)
            origin = -1


def _string_of(node: s.Located) -> str | None:
    """Return the string that a statement consists of, or None."""
    if isinstance(node, s.Expr) and isinstance(node.value, s.Constant) and type(node.value.value) is str:
        return node.value.value
    return None


def _comment(line: str) -> str:
    """Return one line of comment, with unprintable characters escaped."""
    line = line.rstrip()
    if not line.isprintable():
        line = "".join([char if char.isprintable() else repr(char)[1:-1] for char in line])
    return line if line.startswith("#") else f"# {line}".rstrip()
