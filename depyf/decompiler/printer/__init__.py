"""Print: a syntax tree -> source text, without recursion and in time linear in the text.

expression_text, pattern_text   a node -> parts of text, by precedence
string_literals, fstrings       quotes and escapes, exact to the bit
statement_text                  a statement -> headers and bodies
parts                           parts -> text, without recursion
writer, layout                  lines, indentation, comments; breaking lines that are too long
syntax_limits                   the syntax that the target Python reads
listing                         the last rung: instructions instead of source
"""

from __future__ import annotations

import dataclasses
from typing import Any, List, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.parts import expand
from depyf.decompiler.printer.statement_text import COMPOUND
from depyf.decompiler.printer.syntax_limits import SyntaxLimits
from depyf.decompiler.printer.writer import PRINTERS, Writer
from depyf.decompiler.syntax.precedence import TEST

__all__ = ["Printed", "SyntaxLimits", "max_depth", "print_source"]


@dataclasses.dataclass(frozen=True)
class Printed:
    """A text, and for each of its lines the origin of the statement that begins on it, or -1."""

    text: str
    origins: tuple[int, ...]


def print_source(node: s.Node, *, features: SyntaxLimits, indent: int = 4, width: int | None = None) -> Printed:
    """Return the source text of a module, a statement, or an expression (without a line break at its end).

    The text is legal in the Pythons that `features` describes, provided that they have the syntax that the tree
    uses, and parses back to the same tree (but `a and (b and c)` loses its parentheses). Lines longer than
    `width` are broken inside brackets where possible.

    Raises `Unspellable` for a constant that no text can spell exactly (use a `Placeholder`), and for an
    f-string, a decorator or an index that the target Python has no syntax for (use another form).
    """
    if isinstance(node, (s.Module, s.Statement)):
        writer = Writer(features, " " * indent, width)
        writer.write_body(node.body if isinstance(node, s.Module) else [node], isinstance(node, s.Module))
        return Printed("".join([line + "\n" for line in writer.lines]), tuple(writer.origins))
    text = "".join(expand([(node, TEST)], PRINTERS, features))
    return Printed(text, (-1,) * (text.count("\n") + 1))


def max_depth(node: s.Module | s.Statement) -> int:
    """Return how many levels of indentation the deepest line of `node` has; CPython accepts 100."""
    deepest = 0
    any_limits = SyntaxLimits()
    top: Sequence[s.Located] = node.body if isinstance(node, s.Module) else [node]
    stack: List[Tuple[Any, int]] = [(statement, 0) for statement in top if statement.__class__ in COMPOUND]
    while stack:
        statement, depth = stack.pop()
        for clause in COMPOUND[statement.__class__](statement, any_limits):
            deepest = max(deepest, depth + 1)
            stack.extend([(inner, depth + 1) for inner in clause.body if inner.__class__ in COMPOUND])
    return deepest
