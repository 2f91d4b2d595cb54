"""Statements -> parts of lines: one function for each kind of statement.

A simple statement is one line. A compound statement is a series of clauses, each a header and a body; the
`Writer` keeps the open bodies on a stack of its own, so that any depth of nesting can be printed.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, NamedTuple, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.expression_text import (
    call_arguments,
    in_operand,
    level_of_values,
    no_bare_star,
    parameters,
)
from depyf.decompiler.printer.layout import CLOSE_OPTIONAL, COMMA, OPEN_OPTIONAL
from depyf.decompiler.printer.parts import Part, Parts, bracketed, listed
from depyf.decompiler.printer.syntax_limits import SyntaxLimits
from depyf.decompiler.syntax.literals import Unspellable
from depyf.decompiler.syntax.precedence import ANY_PATTERN, ATOM, NAMED, TEST, TUPLE, YIELD


class Clause(NamedTuple):
    """One header of a compound statement and the body below it."""

    header: Parts
    body: Sequence[Any]  # of Statements or of match_cases
    source: s.Located | None = None  # whose origin and comment the header carries
    has_docstring: bool = False


Clauses = Iterator[Clause]

# ---- simple statements


def expr(node: s.Expr, limits: SyntaxLimits) -> Parts:
    return [(node.value, YIELD)]


def return_(node: s.Return, limits: SyntaxLimits) -> Parts:
    return ["return"] if node.value is None else ["return ", (node.value, level_of_values(node.value, limits))]


def delete(node: s.Delete, limits: SyntaxLimits) -> Parts:
    targets = listed([(target, TEST) for target in node.targets])
    return ["del ", OPEN_OPTIONAL, *targets, CLOSE_OPTIONAL] if len(node.targets) > 1 else ["del ", *targets]


def assign(node: s.Assign, limits: SyntaxLimits) -> Parts:
    parts: Parts = []
    for target in node.targets:
        parts += [(target, TUPLE), " = "]
    return [*parts, (node.value, YIELD)]


def aug_assign(node: s.AugAssign, limits: SyntaxLimits) -> Parts:
    return [(node.target, ATOM), f" {node.op}= ", (node.value, no_bare_star(node.value, YIELD))]


def ann_assign(node: s.AnnAssign, limits: SyntaxLimits) -> Parts:
    in_parentheses = isinstance(node.target, s.Name) and not node.simple
    target: Parts = ["(", (node.target, ATOM), ")"] if in_parentheses else [(node.target, ATOM)]
    value: Parts = [] if node.value is None else [" = ", (node.value, YIELD if limits.bare_tuples else TEST)]
    return [*target, ": ", (node.annotation, TEST), *value]


def raise_(node: s.Raise, limits: SyntaxLimits) -> Parts:
    if node.exc is None:
        return ["raise"]
    cause: Parts = [] if node.cause is None else [" from ", (node.cause, TEST)]
    return ["raise ", (node.exc, TEST), *cause]


def assert_(node: s.Assert, limits: SyntaxLimits) -> Parts:
    message: Parts = [] if node.msg is None else [", ", (node.msg, TEST)]
    return ["assert ", (node.test, TEST), *message]


def _aliases(names: Sequence[s.alias], separator: str) -> Parts:
    texts = [item.name if item.asname is None else f"{item.name} as {item.asname}" for item in names]
    return listed(texts, separator)


def import_(node: s.Import, limits: SyntaxLimits) -> Parts:
    return ["lazy import " if node.is_lazy else "import ", *_aliases(node.names, ", ")]


def import_from(node: s.ImportFrom, limits: SyntaxLimits) -> Parts:
    start = f"{'lazy ' if node.is_lazy else ''}from {'.' * (node.level or 0)}{node.module or ''} import "
    if node.names[0].name == "*":
        return [start, "*"]
    return [start, OPEN_OPTIONAL, *_aliases(node.names, COMMA), CLOSE_OPTIONAL]


def global_(node: s.Global, limits: SyntaxLimits) -> Parts:
    return ["global " + ", ".join(node.names)]


def nonlocal_(node: s.Nonlocal, limits: SyntaxLimits) -> Parts:
    return ["nonlocal " + ", ".join(node.names)]


def type_alias(node: s.TypeAlias, limits: SyntaxLimits) -> Parts:
    return ["type ", (node.name, ATOM), *_type_parameters(node.type_params), " = ", (node.value, TEST)]


def one_line(node: s.OneLine, limits: SyntaxLimits) -> Parts:
    parts: Parts = []
    for statement in node.body:
        if statement.__class__ not in SIMPLE:
            raise Unspellable("a compound statement among others on one line")
        parts += ["; "] * bool(parts) + SIMPLE[statement.__class__](statement, limits)
    return parts


def _type_parameters(params: Sequence[s.TypeParameter]) -> Parts:
    return bracketed("[", listed([(param, TEST) for param in params]), "]") if params else []


SIMPLE: Dict[type, Callable[[Any, SyntaxLimits], Parts]] = {
    s.Expr: expr,
    s.Return: return_,
    s.Delete: delete,
    s.Assign: assign,
    s.AugAssign: aug_assign,
    s.AnnAssign: ann_assign,
    s.OneLine: one_line,
    s.Raise: raise_,
    s.Assert: assert_,
    s.Import: import_,
    s.ImportFrom: import_from,
    s.Global: global_,
    s.Nonlocal: nonlocal_,
    s.TypeAlias: type_alias,
    s.Pass: lambda node, limits: ["pass"],
    s.Break: lambda node, limits: ["break"],
    s.Continue: lambda node, limits: ["continue"],
}

# ---- compound statements


def if_(node: s.If, limits: SyntaxLimits) -> Clauses:
    word = "if "
    while True:
        yield Clause([word, (node.test, NAMED), ":"], node.body, node)
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], s.If):
            break
        node, word = node.orelse[0], "elif "
    yield from _else(node.orelse)


def _else(body: s.Body) -> Clauses:
    if body:
        yield Clause(["else:"], body)


def while_(node: s.While, limits: SyntaxLimits) -> Clauses:
    yield Clause(["while ", (node.test, NAMED), ":"], node.body, node)
    yield from _else(node.orelse)


def for_(node: s.For | s.AsyncFor, limits: SyntaxLimits) -> Clauses:
    word = "async for " if isinstance(node, s.AsyncFor) else "for "
    iterable = in_operand(node.iter, no_bare_star(node.iter, TUPLE))
    yield Clause([word, (node.target, TUPLE), " in ", iterable, ":"], node.body, node)
    yield from _else(node.orelse)


def with_(node: s.With | s.AsyncWith, limits: SyntaxLimits) -> Clauses:
    parts: Parts = ["async with " if isinstance(node, s.AsyncWith) else "with "]
    for item in node.items:
        context: Parts = [(item.context_expr, TEST)]
        if item.optional_vars is not None:
            context += [" as ", (item.optional_vars, TEST)]
        elif len(node.items) == 1 and _is_tuple(item.context_expr):
            context = ["(", *context, ")"]  # `with (a, b):` would be two context managers
        parts += [*context, ", "]
    yield Clause([*parts[:-1], ":"], node.body, node)


def _is_tuple(node: s.Expression) -> bool:
    return isinstance(node, s.Tuple) or (isinstance(node, s.Constant) and type(node.value) is tuple)


def try_(node: s.Try | s.TryStar, limits: SyntaxLimits) -> Clauses:
    word = "except*" if isinstance(node, s.TryStar) else "except"
    yield Clause(["try:"], node.body, node)
    for handler in node.handlers:
        caught: Parts = [] if handler.type is None else [" ", (handler.type, TEST)]
        name = "" if handler.name is None else f" as {handler.name}"
        yield Clause([word, *caught, name + ":"], handler.body, handler)
    yield from _else(node.orelse)
    if node.finalbody:
        yield Clause(["finally:"], node.finalbody)


def match_(node: s.Match, limits: SyntaxLimits) -> Clauses:
    yield Clause(["match ", (node.subject, _subject_level(node.subject)), ":"], node.cases, node)


def _subject_level(subject: s.Expression) -> int:
    return TUPLE if _is_tuple(subject) else NAMED


def case(node: s.match_case, limits: SyntaxLimits) -> Clauses:
    guard: Parts = [] if node.guard is None else [" if ", (node.guard, NAMED)]
    yield Clause(["case ", (node.pattern, ANY_PATTERN), *guard, ":"], node.body, node)


def function_def(node: s.FunctionDef | s.AsyncFunctionDef, limits: SyntaxLimits) -> Clauses:
    header: Parts = ["async def " if isinstance(node, s.AsyncFunctionDef) else "def ", node.name]
    header += _type_parameters(node.type_params)
    header += bracketed("(", parameters(node.args, COMMA), ")")
    if node.returns is not None:
        header += [" -> ", (node.returns, TEST)]
    yield Clause([*header, ":"], node.body, node, has_docstring=True)


def class_def(node: s.ClassDef, limits: SyntaxLimits) -> Clauses:
    header: Parts = ["class ", node.name, *_type_parameters(node.type_params)]
    if node.bases or node.keywords:
        header += call_arguments(node.bases, node.keywords)
    yield Clause([*header, ":"], node.body, node, has_docstring=True)


COMPOUND: Dict[type, Callable[[Any, SyntaxLimits], Clauses]] = {
    s.If: if_,
    s.While: while_,
    s.For: for_,
    s.AsyncFor: for_,
    s.With: with_,
    s.AsyncWith: with_,
    s.Try: try_,
    s.TryStar: try_,
    s.Match: match_,
    s.match_case: case,
    s.FunctionDef: function_def,
    s.AsyncFunctionDef: function_def,
    s.ClassDef: class_def,
}


def decorator(node: s.Expression, limits: SyntaxLimits) -> list[Part]:
    """Return the line of one decorator."""
    if not limits.any_decorator:
        inner = node.func if isinstance(node, s.Call) else node
        while isinstance(inner, s.Attribute):
            inner = inner.value
        if not isinstance(inner, s.Name):
            raise Unspellable("before Python 3.9 a decorator is a dotted name or a call of one")
    return ["@", (node, NAMED)]
