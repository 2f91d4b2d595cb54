"""The statement around a line of Python source: a call over several lines is asked about by any of them."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import Iterator, NamedTuple, Optional, Sequence

_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Span(NamedTuple):
    """The lines of a statement; of one with a body, those before the body."""

    first: int
    last: int


def statement_at(lines: Sequence[str], line: int) -> Optional[Span]:
    """Return the lines of the innermost statement that covers a line; None where none does or it is no Python."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    spans = [span for span in _spans(tree) if span.first <= line <= span.last]
    return min(spans, key=lambda span: span.last - span.first, default=None)


def _spans(tree: ast.Module) -> Iterator[Span]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            inner = [part for part in ast.iter_child_nodes(node) if not isinstance(part, (ast.stmt, ast.excepthandler))]
            is_compound = any(isinstance(part, ast.stmt) for part in ast.iter_child_nodes(node))
            ends = [_last_line(part) for part in inner] if is_compound else [_last_line(node)]
            first = min([node.lineno, *[one.lineno for one in getattr(node, "decorator_list", ())]])
            yield Span(first, max([node.lineno, *ends]))


def _last_line(node: ast.AST) -> int:
    own = getattr(node, "end_lineno", None)
    return own if own is not None else max((_last_line(part) for part in ast.iter_child_nodes(node)), default=0)


def has_code(lines: Sequence[str], line: int) -> bool:
    """Return whether there is more than a comment on a line; True where the text is no Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type not in _NO_CODE and token.start[0] <= line <= token.end[0]:
                return True
    except (tokenize.TokenError, SyntaxError, ValueError):
        return True
    return False
