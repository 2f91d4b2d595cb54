"""Comparison and traversal of trees, without recursion: a tree may be as deep as a program is long."""

from __future__ import annotations

from typing import Any, Iterator, List, Tuple

from depyf.decompiler.syntax.expressions import Constant, Name
from depyf.decompiler.syntax.nodes import Node

_LEAVES = (Name, Constant)  # most nodes


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below, in the order of the fields."""
    for name in node.parts:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(root: Node) -> Iterator[Node]:
    """Yield the nodes of a tree, each before those below it, in the order of the text."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _LEAVES):
            below = list(children(node))
            below.reverse()
            stack += below


def same(left: Node, right: Node) -> bool:
    """Return whether two trees have the same shape and the same leaves; `origin` is ignored.

    Constants are compared by type and bits: 1, True and 1.0 differ, so do 0.0 and -0.0. A list and a tuple of
    the same nodes are equal.
    """
    return dump(left) == dump(right)


def dump(root: Node) -> str:
    """Return a text that two trees share exactly when they are the `same`; for tests and error messages."""
    parts: List[str] = []
    stack: List[Tuple[Any, bool]] = [(root, False)]  # (item, whether it is text already)
    while stack:
        item, is_text = stack.pop()
        if is_text:
            parts.append(item)
        elif isinstance(item, Node):
            parts.append(type(item).__name__ + "(")
            stack.append((")", True))
            names = [name for name in item.__slots__ if name != "origin"]
            for name in reversed(names):
                if name != names[-1]:
                    stack.append((", ", True))
                value = getattr(item, name)
                if name == "value" and not isinstance(value, Node):
                    stack.append((_describe(value), True))
                else:
                    stack.append((value, False))
        elif isinstance(item, (list, tuple)):
            parts.append("[")
            stack.append(("]", True))
            for index in range(len(item) - 1, -1, -1):
                if index < len(item) - 1:
                    stack.append((", ", True))
                stack.append((item[index], False))
        else:
            parts.append(repr(item))
    return "".join(parts)


def _describe(value: Any) -> str:
    """Return a text for a constant that, unlike its repr, differs wherever source text can differ."""
    if type(value) in (tuple, frozenset):
        items = [_describe(item) for item in value]
        # Not the repr of the list: it escapes the quotes of what is inside, twice as many at each level.
        return f"{type(value).__name__}[{', '.join(items if type(value) is tuple else sorted(items))}]"
    if type(value) in (int, float, complex, str, bytes, bool, type(None), type(...)):
        return _number(value) if type(value) is int else repr(value)
    return f"<{type(value).__name__} at {id(value):#x}>"


def _number(value: int) -> str:
    """Return an int in decimal, or in hexadecimal where Python refuses (or takes long) to print so many digits."""
    return hex(value) if value.bit_length() > 4096 else repr(value)
