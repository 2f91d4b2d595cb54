"""The parts that a text is assembled from, and `expand`, which assembles it.

A part is text, or a node with the level that its place requires (see `precedence`), which is expanded in turn.
The function that prints a node never calls the one of a node inside it: `expand` keeps the pending parts on a
stack, so that a tree of any depth can be printed.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple, Union

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.fstrings import FieldOpen, FString, Literal, Quoted, spell_fstring
from depyf.decompiler.printer.layout import CLOSE, COMMA, OPEN, Mark
from depyf.decompiler.printer.syntax_limits import SyntaxLimits


class StringStart:
    """The start of an f-string; its quotes are chosen once all pieces up to its end are known."""

    __slots__ = ("prefix",)

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix


class StringEnd:
    """The end of the innermost open f-string."""

    __slots__ = ()


Part = Union[str, Tuple[s.Node, int], Literal, StringStart, StringEnd]
Parts = List[Part]
Printer = Callable[[Any, int, SyntaxLimits], Parts]


def expand(parts: Sequence[Part], printers: Dict[type, Printer], limits: SyntaxLimits) -> list[str]:
    """Return all the text of `parts`, in order, line-break marks included."""
    out: list[Any] = []
    stack: list[Any] = list(reversed(parts))
    strings: list[tuple[int, str]] = []  # the open f-strings: where in `out` each begins, and its prefix
    while stack:
        part = stack.pop()
        kind = part.__class__
        if kind is tuple:
            node, level = part
            node_kind = node.__class__
            if node_kind is s.Name:
                out.append(node.id)
            elif strings and node_kind is s.Constant and node.value.__class__ in (str, bytes):
                out.append(Quoted(node.value))
            else:
                stack += printers[node_kind](node, level, limits)[::-1]
        elif kind is str or kind is Mark or kind is FieldOpen or kind is Literal:
            out.append(part)
        elif kind is StringStart:
            strings.append((len(out), part.prefix))
        else:
            start, prefix = strings.pop()
            string = FString(prefix, out[start:])
            del out[start:]
            out.append(string if strings else spell_fstring(string, limits))
    return out


def wrapped(parts: Parts, own: int, level: int) -> Parts:
    """Return the parts of a node that binds at level `own`, in parentheses if its place requires a higher one."""
    return parts if level <= own else ["(", *parts, ")"]


def listed(items: Iterable[Part], separator: str = COMMA) -> Parts:
    """Return the items with separators between them."""
    parts: Parts = []
    for item in items:
        parts.append(item)
        parts.append(separator)
    return parts[:-1]


def bracketed(opening: str, items: Parts, closing: str, close: Mark = CLOSE) -> Parts:
    """Return the items (separators included) in brackets that may break over lines."""
    return [opening, OPEN, *items, close, closing] if items else [opening, closing]
