"""Patterns of the `match` statement, and type parameters. Fields mean what they mean in `ast`."""

from __future__ import annotations

from typing import Any, Sequence

from depyf.decompiler.syntax.nodes import Expression, Pattern, TypeParameter, node


@node
class MatchValue(Pattern):
    value: Expression


@node
class MatchSingleton(Pattern):
    """`value` is None, True or False."""

    value: Any


@node
class MatchSequence(Pattern):
    patterns: Sequence[Pattern] = ()


@node
class MatchMapping(Pattern):
    keys: Sequence[Expression] = ()
    patterns: Sequence[Pattern] = ()
    rest: str | None = None


@node
class MatchClass(Pattern):
    cls: Expression
    patterns: Sequence[Pattern] = ()
    kwd_attrs: Sequence[str] = ()
    kwd_patterns: Sequence[Pattern] = ()


@node
class MatchStar(Pattern):
    name: str | None = None


@node
class MatchAs(Pattern):
    """`pattern as name`; without a pattern a capture, and without a name either the wildcard."""

    pattern: Pattern | None = None
    name: str | None = None


@node
class MatchOr(Pattern):
    patterns: Sequence[Pattern]


@node
class TypeVar(TypeParameter):
    name: str
    bound: Expression | None = None
    default_value: Expression | None = None


@node
class ParamSpec(TypeParameter):
    name: str
    default_value: Expression | None = None


@node
class TypeVarTuple(TypeParameter):
    name: str
    default_value: Expression | None = None
