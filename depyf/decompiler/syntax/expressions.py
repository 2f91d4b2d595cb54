"""Expressions. Fields mean what they mean in `ast`; nodes that `ast` lacks begin with "Ours:"."""

from __future__ import annotations

import builtins
from typing import Any, Sequence

from depyf.decompiler.syntax.nodes import Expression, Node, node

# ---- names, constants, attributes, subscripts, calls


@node
class Name(Expression):
    id: str


@node
class Constant(Expression):
    """A value that source text can spell exactly; the printer raises `Unspellable` for any other."""

    value: Any


@node
class Placeholder(Expression):
    """Ours: the name that stands in the text for a constant that no text can spell."""

    name: str
    value: Any = None


@node
class Attribute(Expression):
    value: Expression
    attr: str


@node
class Subscript(Expression):
    value: Expression
    slice: Expression


@node
class Slice(Expression):
    """Only directly in a subscript, or in a tuple that is directly in a subscript."""

    lower: Expression | None = None
    upper: Expression | None = None
    step: Expression | None = None


@node
class Starred(Expression):
    value: Expression


@node
class keyword(Node):
    """`arg=value`, or `**value` where `arg` is None."""

    arg: str | None
    value: Expression


@node
class Call(Expression):
    func: Expression
    args: Sequence[Expression] = ()
    keywords: Sequence[keyword] = ()


# ---- operators


@node
class BoolOp(Expression):
    """`op` is "and" or "or"."""

    op: str
    values: Sequence[Expression]


@node
class SeparateTest(Expression):
    """Ours: an `and` or `or` inside another, which tests its value once more instead of joining its operands.

    `(a and b) and c` is not `a and b and c` then. Some compilers make the same code of both if they are on one line.
    """

    value: Expression


@node
class NamedExpr(Expression):
    target: Expression
    value: Expression


@node
class BinOp(Expression):
    """`op` as it is spelled: "+", "//", "**", "@", ..."""

    left: Expression
    op: str
    right: Expression


@node
class UnaryOp(Expression):
    """`op` is "-", "+", "~" or "not"."""

    op: str
    operand: Expression


@node
class Compare(Expression):
    """`ops` as they are spelled: "<", "==", "is", "is not", "in", "not in", ..."""

    left: Expression
    ops: Sequence[str]
    comparators: Sequence[Expression]


@node
class IfExp(Expression):
    test: Expression
    body: Expression
    orelse: Expression


# ---- displays and comprehensions


@node
class List(Expression):
    elts: Sequence[Expression] = ()


@node
class Tuple(Expression):
    elts: Sequence[Expression] = ()


@node
class Set(Expression):
    """`elts` is not empty: `{}` is a dict."""

    elts: Sequence[Expression]


@node
class Dict(Expression):
    """A key that is None stands for `**value`."""

    keys: Sequence[Expression | None] = ()
    values: Sequence[Expression] = ()


@node
class comprehension(Node):
    target: Expression
    iter: Expression
    ifs: Sequence[Expression] = ()
    is_async: int = 0


@node
class ListComp(Expression):
    elt: Expression
    generators: Sequence[comprehension]


@node
class SetComp(Expression):
    elt: Expression
    generators: Sequence[comprehension]


@node
class DictComp(Expression):
    """A value that is None stands for `**key` (Python 3.15)."""

    key: Expression
    value: Expression | None
    generators: Sequence[comprehension]


@node
class GeneratorExp(Expression):
    elt: Expression
    generators: Sequence[comprehension]


# ---- functions


@node
class arg(Node):
    arg: str
    annotation: Expression | None = None


@node
class arguments(Node):
    """`defaults` belong to the last of `posonlyargs + args`; `kw_defaults` has None for "no default"."""

    posonlyargs: Sequence[arg] = ()
    args: Sequence[arg] = ()
    vararg: arg | None = None
    kwonlyargs: Sequence[arg] = ()
    kw_defaults: Sequence[Expression | None] = ()
    kwarg: arg | None = None
    defaults: Sequence[Expression] = ()


@node
class Lambda(Expression):
    args: arguments
    body: Expression


@node
class Await(Expression):
    value: Expression


@node
class Yield(Expression):
    value: Expression | None = None


@node
class YieldFrom(Expression):
    value: Expression


# ---- f-strings and template strings


@node
class FormattedValue(Expression):
    """`conversion` is -1 or the code of "s", "r" or "a"; `format_spec` is a JoinedStr."""

    value: Expression
    conversion: int = -1
    format_spec: Expression | None = None


@node
class JoinedStr(Expression):
    """`values` are FormattedValues and Constants of type str."""

    values: Sequence[Expression] = ()


@node
class Interpolation(Expression):
    """`str` is the expression's text, which the program can read; if not empty, it is what gets printed."""

    value: Expression
    str: builtins.str = ""
    conversion: int = -1
    format_spec: Expression | None = None


@node
class TemplateStr(Expression):
    """`values` are Interpolations and Constants of type str (Python 3.14)."""

    values: Sequence[Expression] = ()
