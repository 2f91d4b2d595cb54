"""Statements. Fields mean what they mean in `ast`; nodes that `ast` lacks begin with "Ours:".

Every statement (and `ExceptHandler`, `match_case`) also takes `trailing=` and `origin=`, see `Located`.
Bodies are lists, so that later stages can edit them in place; an empty body prints as `pass`.
"""

from __future__ import annotations

import dataclasses
from typing import List, Sequence

from depyf.decompiler.syntax.expressions import arguments, keyword
from depyf.decompiler.syntax.nodes import Expression, Located, Node, Pattern, Statement, TypeParameter, node

Body = List[Statement]


@node
class Module(Node):
    body: Body


# ---- definitions


@node
class FunctionDef(Statement):
    name: str
    args: arguments
    body: Body
    decorator_list: Sequence[Expression] = ()
    returns: Expression | None = None
    type_params: Sequence[TypeParameter] = ()


@node
class AsyncFunctionDef(Statement):
    name: str
    args: arguments
    body: Body
    decorator_list: Sequence[Expression] = ()
    returns: Expression | None = None
    type_params: Sequence[TypeParameter] = ()


@node
class ClassDef(Statement):
    name: str
    bases: Sequence[Expression]
    keywords: Sequence[keyword]
    body: Body
    decorator_list: Sequence[Expression] = ()
    type_params: Sequence[TypeParameter] = ()


@node
class TypeAlias(Statement):
    name: Expression
    type_params: Sequence[TypeParameter]
    value: Expression


# ---- simple statements


@node
class Expr(Statement):
    value: Expression


@node
class Return(Statement):
    value: Expression | None = None


@node
class Delete(Statement):
    targets: Sequence[Expression]


@node
class Assign(Statement):
    targets: Sequence[Expression]
    value: Expression


@node
class AugAssign(Statement):
    """`op` without the equals sign: "+", "//", ..."""

    target: Expression
    op: str
    value: Expression


@node
class AnnAssign(Statement):
    """`simple` is 0 for a name in parentheses, whose annotation is not recorded."""

    target: Expression
    annotation: Expression
    value: Expression | None = None
    simple: int = 1


@node
class Raise(Statement):
    exc: Expression | None = None
    cause: Expression | None = None


@node
class Assert(Statement):
    test: Expression
    msg: Expression | None = None


@node
class alias(Node):
    name: str
    asname: str | None = None


@node
class Import(Statement):
    names: Sequence[alias]
    is_lazy: int = 0  # Python 3.15


@node
class ImportFrom(Statement):
    module: str | None
    names: Sequence[alias]
    level: int = 0
    is_lazy: int = 0  # Python 3.15


@node
class Global(Statement):
    names: Sequence[str]


@node
class Nonlocal(Statement):
    names: Sequence[str]


@node
class Pass(Statement):
    pass


@node
class Break(Statement):
    pass


@node
class Continue(Statement):
    pass


@node
class Comment(Statement):
    """Ours: one or several lines of comment; each line that does not start with `#` gets `# `."""

    text: str


@node
class OneLine(Statement):
    """Ours: simple statements on one line, with semicolons: interactive code is one line or one compound statement."""

    body: Body


# ---- compound statements


@node
class If(Statement):
    test: Expression
    body: Body
    orelse: Body = dataclasses.field(default_factory=list)


@node
class For(Statement):
    target: Expression
    iter: Expression
    body: Body
    orelse: Body = dataclasses.field(default_factory=list)


@node
class AsyncFor(Statement):
    target: Expression
    iter: Expression
    body: Body
    orelse: Body = dataclasses.field(default_factory=list)


@node
class While(Statement):
    test: Expression
    body: Body
    orelse: Body = dataclasses.field(default_factory=list)


@node
class withitem(Node):
    context_expr: Expression
    optional_vars: Expression | None = None


@node
class With(Statement):
    items: Sequence[withitem]
    body: Body


@node
class AsyncWith(Statement):
    items: Sequence[withitem]
    body: Body


@node
class ExceptHandler(Located):
    type: Expression | None
    name: str | None
    body: Body


@node
class Try(Statement):
    body: Body
    handlers: List[ExceptHandler] = dataclasses.field(default_factory=list)
    orelse: Body = dataclasses.field(default_factory=list)
    finalbody: Body = dataclasses.field(default_factory=list)


@node
class TryStar(Statement):
    """`try` with `except*` (Python 3.11)."""

    body: Body
    handlers: List[ExceptHandler] = dataclasses.field(default_factory=list)
    orelse: Body = dataclasses.field(default_factory=list)
    finalbody: Body = dataclasses.field(default_factory=list)


@node
class match_case(Located):
    pattern: Pattern
    guard: Expression | None
    body: Body


@node
class Match(Statement):
    subject: Expression
    cases: Sequence[match_case]
