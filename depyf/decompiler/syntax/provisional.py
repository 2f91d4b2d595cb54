"""Provisional expressions: they hold a place in a tree that is being built, and no finished tree has one.

All of them are ours. `build` makes them where what comes later decides the form, and replaces them before it returns.
"""

from __future__ import annotations

from typing import Any, List

from depyf.decompiler.syntax.expressions import Compare, keyword
from depyf.decompiler.syntax.nodes import Expression, node


@node
class Reference(Expression):
    """A value of the builder, until it is clear whether it gets a name."""

    value: Any


@node
class Inplace(Expression):
    """`left op= right` until it is clear where the result goes."""

    left: Expression
    op: str
    right: Expression


@node
class Flipped(Expression):
    """An `is` or `in` test with the opposite operator of the one in the code: its branches are swapped later."""

    test: Compare


@node
class IterOf(Expression):
    """`iter(x)` made by GET_ITER, in a loop or a comprehension; elsewhere it becomes a call of the builtin itself."""

    value: Expression
    is_constant: bool = False  # whether the compiler folds the display that `value` is


@node
class AiterOf(Expression):
    """`aiter(x)` made by GET_AITER: only async loops and comprehensions can spell it."""

    value: Expression


@node
class Converted(Expression):
    """`!r` of an f-string without the rest of it; elsewhere it becomes a call of the builtin itself."""

    value: Expression
    conversion: int


@node
class LoopItem(Expression):
    """The item of a loop that has no variable: `(*x for x in y)` yields the items of each `x`."""


@node
class Element(Expression):
    """What a comprehension collects: `key` only for dicts; the value is Starred where its items are collected."""

    key: Expression | None
    value: Expression


@node
class CoroutineComprehension(Expression):
    """The coroutine that runs an async comprehension: only the comprehension itself can spell that it is awaited."""

    comprehension: Expression


@node
class AssertionErrorName(Expression):
    """The AssertionError of an assert statement, whatever the global of that name is."""


@node
class CallArguments(Expression):
    """The positional arguments of a call, collected before it; elsewhere it becomes a tuple."""

    elts: List[Expression]


@node
class CallKeywords(Expression):
    """The keyword arguments of a call, collected before it; elsewhere it becomes a dict."""

    keywords: List[keyword]


@node
class Dropped(Expression):
    """The target of an element that is popped: of several stores to one variable the compiler keeps the last."""

    id: str = "_"  # the temporary that it gets if no variable is stored after it
