"""Patterns of `match` and type parameters -> parts of text, in the same way as `expression_text`."""

from __future__ import annotations

from typing import Dict

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.layout import COMMA
from depyf.decompiler.printer.parts import Part, Parts, Printer, bracketed, listed, wrapped
from depyf.decompiler.printer.syntax_limits import SyntaxLimits
from depyf.decompiler.syntax.literals import Unspellable, spell
from depyf.decompiler.syntax.precedence import ANY_PATTERN, ATOM, BIT_OR, CLOSED_PATTERN, OR_PATTERN, TEST


def match_value(node: s.MatchValue, level: int, limits: SyntaxLimits) -> Parts:
    return [_pattern_value(node.value)]


def _pattern_value(value: s.Expression) -> Part:
    """Return a literal or a dotted name; a complex number has no parentheses in a pattern."""
    if isinstance(value, s.Constant) and isinstance(value.value, complex):
        text, _ = spell(value.value)
        if text.startswith("-("):
            raise Unspellable(f"no pattern spells {value.value!r} with these signs of zero")
        return text.strip("()")
    return value, BIT_OR


def match_singleton(node: s.MatchSingleton, level: int, limits: SyntaxLimits) -> Parts:
    return [repr(node.value)]


def match_sequence(node: s.MatchSequence, level: int, limits: SyntaxLimits) -> Parts:
    return bracketed("[", listed([(item, ANY_PATTERN) for item in node.patterns]), "]")


def match_mapping(node: s.MatchMapping, level: int, limits: SyntaxLimits) -> Parts:
    items: Parts = []
    for key, pattern in zip(node.keys, node.patterns):
        items += [_pattern_value(key), ": ", (pattern, ANY_PATTERN), COMMA]
    if node.rest is not None:
        items += ["**" + node.rest, COMMA]
    return bracketed("{", items[:-1], "}")


def match_class(node: s.MatchClass, level: int, limits: SyntaxLimits) -> Parts:
    items: Parts = []
    for pattern in node.patterns:
        items += [(pattern, ANY_PATTERN), COMMA]
    for name, pattern in zip(node.kwd_attrs, node.kwd_patterns):
        items += [name + "=", (pattern, ANY_PATTERN), COMMA]
    return [(node.cls, ATOM), *bracketed("(", items[:-1], ")")]


def match_star(node: s.MatchStar, level: int, limits: SyntaxLimits) -> Parts:
    return ["*" + (node.name or "_")]


def match_as(node: s.MatchAs, level: int, limits: SyntaxLimits) -> Parts:
    if node.pattern is None:
        return [node.name or "_"]
    return wrapped([(node.pattern, OR_PATTERN), f" as {node.name}"], ANY_PATTERN, level)


def match_or(node: s.MatchOr, level: int, limits: SyntaxLimits) -> Parts:
    return wrapped(listed([(item, CLOSED_PATTERN) for item in node.patterns], " | "), OR_PATTERN, level)


def type_var(node: s.TypeVar, level: int, limits: SyntaxLimits) -> Parts:
    bound: Parts = [] if node.bound is None else [": ", (node.bound, TEST)]
    return [node.name, *bound, *_default(node.default_value)]


def param_spec(node: s.ParamSpec, level: int, limits: SyntaxLimits) -> Parts:
    return ["**" + node.name, *_default(node.default_value)]


def type_var_tuple(node: s.TypeVarTuple, level: int, limits: SyntaxLimits) -> Parts:
    return ["*" + node.name, *_default(node.default_value)]


def _default(value: s.Expression | None) -> Parts:
    return [] if value is None else [" = ", (value, TEST)]


PRINTERS: Dict[type, Printer] = {
    s.MatchValue: match_value,
    s.MatchSingleton: match_singleton,
    s.MatchSequence: match_sequence,
    s.MatchMapping: match_mapping,
    s.MatchClass: match_class,
    s.MatchStar: match_star,
    s.MatchAs: match_as,
    s.MatchOr: match_or,
    s.TypeVar: type_var,
    s.ParamSpec: param_spec,
    s.TypeVarTuple: type_var_tuple,
}
