"""Expressions -> parts of text: one function for each kind of node, returning its parts in order (see `parts`)."""

from __future__ import annotations

from typing import Dict, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.fstrings import FieldOpen, Literal
from depyf.decompiler.printer.layout import (
    CLOSE_OPTIONAL,
    CLOSE_OPTIONAL_PLAIN,
    CLOSE_PLAIN,
    COMMA,
    OPEN,
    OPEN_ALWAYS,
    OPEN_OPTIONAL,
    SPACE,
)
from depyf.decompiler.printer.parts import Part, Parts, Printer, StringEnd, StringStart, bracketed, listed, wrapped
from depyf.decompiler.printer.printable_characters import as_repr_of
from depyf.decompiler.printer.syntax_limits import SyntaxLimits
from depyf.decompiler.syntax.literals import Unspellable, spell, spelled_elements
from depyf.decompiler.syntax.precedence import (
    AND,
    ATOM,
    AWAIT,
    BINARY,
    BIT_OR,
    COMPARE,
    FACTOR,
    NAMED,
    NOT,
    OR,
    OR_CHAIN,
    POWER,
    TEST,
    TUPLE,
    YIELD,
)

# ---- names, constants, attributes, subscripts, calls


def name(node: s.Name, level: int, limits: SyntaxLimits) -> Parts:
    return [node.id]


def placeholder(node: s.Placeholder, level: int, limits: SyntaxLimits) -> Parts:
    return [node.name]


def constant(node: s.Constant, level: int, limits: SyntaxLimits) -> Parts:
    if node.value.__class__ is tuple:
        return tuple_display(s.Tuple([s.Constant(item) for item in node.value]), level, limits)
    if node.value.__class__ is frozenset:
        raise Unspellable("a frozenset is a constant only after `in`")
    text, own = spell(node.value)
    if node.value.__class__ is str:
        text = as_repr_of(text, limits.characters_of)
    return [text] if level <= own else ["(", text, ")"]


def in_operand(node: s.Expression, level: int) -> Part:
    """Return the right operand of `in`: the compiler turns a set of constants there into a frozenset."""
    if isinstance(node, s.Constant) and node.value.__class__ is frozenset and node.value:
        return s.Set([s.Constant(item) for item in spelled_elements(node.value)]), level
    return node, level


def attribute(node: s.Attribute, level: int, limits: SyntaxLimits) -> Parts:
    value = node.value
    if isinstance(value, s.Constant) and value.value.__class__ is int and value.value >= 0:
        return ["(", (value, ATOM), ").", node.attr]
    return [(value, ATOM), "." + node.attr]


def subscript(node: s.Subscript, level: int, limits: SyntaxLimits) -> Parts:
    index = _index_expression(node.slice)
    walrus = NAMED if limits.bare_walrus_in_index else TEST
    if isinstance(index, s.Tuple) and index.elts:
        starred = any(isinstance(item, s.Starred) for item in index.elts)
        if not starred or limits.starred_in_index:
            items = listed([(item, walrus) for item in index.elts])
            if len(index.elts) > 1:
                return [(node.value, ATOM), *bracketed("[", items, "]")]
            return [(node.value, ATOM), "[", *items, "]" if starred else ",]"]
        if any(isinstance(item, s.Slice) for item in index.elts):
            raise Unspellable("before Python 3.11 an index holds `*` or `:`, not both")
    return [(node.value, ATOM), "[", OPEN, (index, walrus), CLOSE_PLAIN, "]"]


def _index_expression(index: s.Expression) -> s.Expression:
    """Return a constant index as source spells it: a tuple, or a slice (a constant from Python 3.14 on)."""
    if isinstance(index, s.Constant) and type(index.value) is tuple:
        return s.Tuple([_slice_or_constant(item) for item in index.value])
    return _slice_or_constant(index.value) if isinstance(index, s.Constant) else index


def _slice_or_constant(value: object) -> s.Expression:
    if type(value) is not slice:
        return s.Constant(value)
    bounds = (value.start, value.stop, value.step)
    return s.Slice(*[None if bound is None else s.Constant(bound) for bound in bounds])


def slice_(node: s.Slice, level: int, limits: SyntaxLimits) -> Parts:
    parts: Parts = []
    if node.lower is not None:
        parts.append((node.lower, TEST))
    parts.append(":")
    if node.upper is not None:
        parts.append((node.upper, TEST))
    if node.step is not None:
        parts += [":", (node.step, TEST)]
    return parts


def starred(node: s.Starred, level: int, limits: SyntaxLimits) -> Parts:
    return ["*", (node.value, BIT_OR)]


def keyword(node: s.keyword, level: int, limits: SyntaxLimits) -> Parts:
    if node.arg is None:
        return ["**", (node.value, BIT_OR)]
    return [node.arg + "=", (node.value, TEST)]


def call(node: s.Call, level: int, limits: SyntaxLimits) -> Parts:
    args = node.args
    if len(args) == 1 and not node.keywords and isinstance(args[0], s.GeneratorExp):
        return [(node.func, ATOM), (args[0], ATOM)]
    return [(node.func, ATOM), *call_arguments(args, node.keywords)]


def call_arguments(args: Sequence[s.Expression], keywords: Sequence[s.keyword]) -> Parts:
    """Return the parenthesised arguments of a call or of a class's bases."""
    items: Parts = [(arg, NAMED) for arg in args]
    items += [(item, TEST) for item in keywords]
    return bracketed("(", listed(items), ")")


# ---- operators


def bool_op(node: s.BoolOp, level: int, limits: SyntaxLimits) -> Parts:
    """Print `a and (b and c)` as `a and b and c`, which evaluates the same operands to the same value."""
    own = AND if node.op == "and" else OR_CHAIN
    word = node.op + " "
    parts: Parts = []
    for value in node.values:
        parts += (SPACE, word, (value, own))
    parts = parts[2:]
    if level > own:
        return ["(", OPEN, *parts, CLOSE_PLAIN, ")"]
    if level < own:
        return [OPEN_OPTIONAL, *parts, CLOSE_OPTIONAL_PLAIN]
    return parts


def separate_test(node: s.SeparateTest, level: int, limits: SyntaxLimits) -> Parts:
    if not limits.lines_decide_jumps:
        own = AND if isinstance(node.value, s.BoolOp) and node.value.op == "and" else OR_CHAIN
        return [(node.value, level)] if level != own else ["(", (node.value, TEST), ")"]
    return ["(", OPEN_ALWAYS, (node.value, TEST), CLOSE_PLAIN, ")"]


def named_expr(node: s.NamedExpr, level: int, limits: SyntaxLimits) -> Parts:
    parts: Parts = [(node.target, ATOM), " := ", (node.value, TEST)]
    return parts if level == NAMED else ["(", *parts, ")"]


def bin_op(node: s.BinOp, level: int, limits: SyntaxLimits) -> Parts:
    op = node.op
    own = BINARY[op]
    if own == POWER:
        parts: Parts = [(node.left, AWAIT), " ** ", (node.right, FACTOR)]
    else:
        parts = [(node.left, own), f" {op} ", (node.right, own + 1)]
    return parts if level <= own else ["(", *parts, ")"]


def unary_op(node: s.UnaryOp, level: int, limits: SyntaxLimits) -> Parts:
    if node.op == "not":
        return wrapped(["not ", (node.operand, NOT)], NOT, level)
    return wrapped([node.op, (node.operand, FACTOR)], FACTOR, level)


def compare(node: s.Compare, level: int, limits: SyntaxLimits) -> Parts:
    parts: Parts = [(node.left, BIT_OR)]
    for op, operand in zip(node.ops, node.comparators):
        parts.append(f" {op} ")
        parts.append(in_operand(operand, BIT_OR) if op in ("in", "not in") else (operand, BIT_OR))
    return wrapped(parts, COMPARE, level)


def if_exp(node: s.IfExp, level: int, limits: SyntaxLimits) -> Parts:
    parts: Parts = [(node.body, OR), " if ", (node.test, OR), " else ", (node.orelse, TEST)]
    return wrapped(parts, TEST, level)


# ---- displays and comprehensions


def list_display(node: s.List, level: int, limits: SyntaxLimits) -> Parts:
    return bracketed("[", listed([(item, NAMED) for item in node.elts]), "]")


def tuple_display(node: s.Tuple, level: int, limits: SyntaxLimits) -> Parts:
    # One element gets parentheses: the comma of `a,` is easily overlooked.
    bare = level <= TUPLE and len(node.elts) > 1
    items = listed([(item, TEST if bare else NAMED) for item in node.elts])
    if len(items) == 1:
        return ["(", *items, ",)"]
    return [OPEN_OPTIONAL, *items, CLOSE_OPTIONAL] if bare else bracketed("(", items, ")")


def set_display(node: s.Set, level: int, limits: SyntaxLimits) -> Parts:
    if not node.elts:
        return ["{*()}"]
    walrus = NAMED if limits.bare_walrus_in_index else TEST
    return bracketed("{", listed([(item, walrus) for item in node.elts]), "}")


def dict_display(node: s.Dict, level: int, limits: SyntaxLimits) -> Parts:
    items: Parts = []
    for key, value in zip(node.keys, node.values):
        items += ["**", (value, BIT_OR)] if key is None else [(key, TEST), ": ", (value, TEST)]
        items.append(COMMA)
    return bracketed("{", items[:-1], "}")


def comprehension(node: s.comprehension, level: int, limits: SyntaxLimits) -> Parts:
    parts: Parts = ["async for " if node.is_async else "for ", (node.target, TUPLE)]
    parts += [" in ", in_operand(node.iter, OR)]
    for test in node.ifs:
        parts += [SPACE, "if ", (test, OR)]
    return parts


def _comprehended(brackets: str, element: Parts, generators: Sequence[s.comprehension]) -> Parts:
    items = listed([(generator, TEST) for generator in generators], SPACE)
    return bracketed(brackets[0], [*element, SPACE, *items], brackets[1], CLOSE_PLAIN)


def list_comp(node: s.ListComp, level: int, limits: SyntaxLimits) -> Parts:
    return _comprehended("[]", [(node.elt, NAMED)], node.generators)


def set_comp(node: s.SetComp, level: int, limits: SyntaxLimits) -> Parts:
    return _comprehended("{}", [(node.elt, NAMED if limits.bare_walrus_in_index else TEST)], node.generators)


def dict_comp(node: s.DictComp, level: int, limits: SyntaxLimits) -> Parts:
    if node.value is None:
        return _comprehended("{}", ["**", (node.key, BIT_OR)], node.generators)
    return _comprehended("{}", [(node.key, TEST), ": ", (node.value, TEST)], node.generators)


def generator_exp(node: s.GeneratorExp, level: int, limits: SyntaxLimits) -> Parts:
    return _comprehended("()", [(node.elt, TEST)], node.generators)


# ---- functions


def parameter(node: s.arg, level: int, limits: SyntaxLimits) -> Parts:
    return [node.arg] if node.annotation is None else [node.arg + ": ", (node.annotation, TEST)]


def parameters(node: s.arguments, separator: str) -> Parts:
    """Return all parameters with separators between them, without brackets."""
    parts: Parts = []

    def add(prefix: str, item: s.arg | None, default: s.Expression | None = None) -> None:
        parts.append(prefix)
        if item is not None:
            parts.append((item, TEST))
            if default is not None:
                parts.extend(["=" if item.annotation is None else " = ", (default, TEST)])
        parts.append(separator)

    positional = [*node.posonlyargs, *node.args]
    missing = len(positional) - len(node.defaults)
    for index, item in enumerate(positional):
        add("", item, node.defaults[index - missing] if index >= missing else None)
        if index + 1 == len(node.posonlyargs):
            add("/", None)
    if node.vararg is not None or node.kwonlyargs:
        add("*", node.vararg)
    for item, default in zip(node.kwonlyargs, node.kw_defaults or [None] * len(node.kwonlyargs)):
        add("", item, default)
    if node.kwarg is not None:
        add("**", node.kwarg)
    return parts[:-1]


def lambda_(node: s.Lambda, level: int, limits: SyntaxLimits) -> Parts:
    listed_parameters = parameters(node.args, ", ")
    head: Parts = ["lambda ", *listed_parameters] if listed_parameters else ["lambda"]
    return wrapped([*head, ": ", (node.body, TEST)], TEST, level)


def await_(node: s.Await, level: int, limits: SyntaxLimits) -> Parts:
    return wrapped(["await ", (node.value, ATOM)], AWAIT, level)


def no_bare_star(value: s.Expression, level: int) -> int:
    """Return the level for a place where Python 3.8 requires parentheses around `*a, b`."""
    starred = isinstance(value, s.Tuple) and any(isinstance(item, s.Starred) for item in value.elts)
    return TEST if starred else level


def level_of_values(value: s.Expression, limits: SyntaxLimits) -> int:
    """Return the level for what `return` and `yield` give: Python 3.7 requires parentheses around `*a, b`."""
    return TUPLE if limits.bare_tuples else no_bare_star(value, TUPLE)


def yield_(node: s.Yield, level: int, limits: SyntaxLimits) -> Parts:
    given: Parts = ["yield"] if node.value is None else ["yield ", (node.value, level_of_values(node.value, limits))]
    return wrapped(given, YIELD, level)


def yield_from(node: s.YieldFrom, level: int, limits: SyntaxLimits) -> Parts:
    return wrapped(["yield from ", (node.value, TEST)], YIELD, level)


# ---- f-strings and template strings


def joined_str(node: s.JoinedStr, level: int, limits: SyntaxLimits) -> Parts:
    return [StringStart("f"), *_string_parts(node.values, 0, limits), StringEnd()]


def template_str(node: s.TemplateStr, level: int, limits: SyntaxLimits) -> Parts:
    return [StringStart("t"), *_string_parts(node.values, 0, limits), StringEnd()]


def formatted_value(node: s.FormattedValue, level: int, limits: SyntaxLimits) -> Parts:
    """Print a field outside any JoinedStr as a string of its own."""
    return [StringStart("f"), *_field_parts(node, 0, limits), StringEnd()]


def _string_parts(values: Sequence[s.Expression], depth: int, limits: SyntaxLimits) -> Parts:
    """Return what is between the quotes, or in a format specification nested in `depth` - 1 others."""
    parts: Parts = []
    for value in values:
        if isinstance(value, s.Constant):
            parts.append(Literal(value.value, depth > 0))
        elif isinstance(value, (s.FormattedValue, s.Interpolation)):
            parts += _field_parts(value, depth, limits)
        else:
            raise Unspellable(f"an f-string holds constants and fields, not {type(value).__name__}")
    return parts


def _field_parts(field: s.FormattedValue | s.Interpolation, depth: int, limits: SyntaxLimits) -> Parts:
    if depth > 1 and not limits.nested_quotes_in_fstrings:
        raise Unspellable("before Python 3.12 format specifications nest only once")
    parts: Parts = [FieldOpen("{")]
    if isinstance(field, s.Interpolation) and field.str:
        parts.append(field.str)
    else:
        parts.append((field.value, OR if _ends_in_lambda(field.value) else TEST))
    if field.conversion != -1:
        parts.append("!" + chr(field.conversion))
    spec = field.format_spec
    if spec is not None:
        values = spec.values if isinstance(spec, s.JoinedStr) else [spec]
        parts += [":", *_string_parts(values, depth + 1, limits)]
    parts.append("}")
    return parts


def _ends_in_lambda(node: s.Expression) -> bool:
    """Return whether this expression contains a bare colon, which would start the format specification."""
    while isinstance(node, s.IfExp):
        node = node.orelse
    return isinstance(node, s.Lambda)


PRINTERS: Dict[type, Printer] = {
    s.Name: name,
    s.Placeholder: placeholder,
    s.Constant: constant,
    s.Attribute: attribute,
    s.Subscript: subscript,
    s.Slice: slice_,
    s.Starred: starred,
    s.keyword: keyword,
    s.Call: call,
    s.SeparateTest: separate_test,
    s.BoolOp: bool_op,
    s.NamedExpr: named_expr,
    s.BinOp: bin_op,
    s.UnaryOp: unary_op,
    s.Compare: compare,
    s.IfExp: if_exp,
    s.List: list_display,
    s.Tuple: tuple_display,
    s.Set: set_display,
    s.Dict: dict_display,
    s.comprehension: comprehension,
    s.ListComp: list_comp,
    s.SetComp: set_comp,
    s.DictComp: dict_comp,
    s.GeneratorExp: generator_exp,
    s.arg: parameter,
    s.Lambda: lambda_,
    s.Await: await_,
    s.Yield: yield_,
    s.YieldFrom: yield_from,
    s.JoinedStr: joined_str,
    s.TemplateStr: template_str,
    s.FormattedValue: formatted_value,
}
