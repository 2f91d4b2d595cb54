"""Operations on lists and tuples made here: they happen now and leave nothing to write."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.lookahead import stored_one_by_one
from depyf.decompiler.build.stack import Stack
from depyf.decompiler.build.values import Fresh, Value
from depyf.decompiler.bytecode.microops import Op


class FreshLists(Stack):
    """What can be known of a container that nothing else knows of."""

    following = ""  # the kind of the op after the one that is executed
    upcoming: Tuple[Sequence[Op], int] = ((), 0)  # the ops that are executed and the position of the next one

    def fold_subscript(self, container: Value, key: Value) -> bool:
        """`[a, b][0]`, `[a, b][0:1]`"""
        index = self.known_key(container, key)
        if index is None:
            return False
        assert isinstance(container, Fresh)
        try:
            found = container.items[index]
        except IndexError:
            return False
        kept = found if isinstance(found, list) else [found]
        if container.refs == 0 and any(item.pending and item not in kept for item in container.items):
            return False  # `(f(), x)[1]`: the rest is there for its effect, in an expression
        if isinstance(found, list):
            for item in found:
                item.refs += 1
            self.push(Fresh(container.kind, list(found), self.offset))
        else:
            self.push(found)
        self.discard(container)
        return True

    def fold_delete(self, container: Value, key: Value) -> bool:
        """`del x[-1]`"""
        index = self.known_key(container, key)
        if index is None or not isinstance(container, Fresh) or container.kind != "list":
            return False
        gone = container.items[index] if isinstance(index, slice) else [container.items[index]]
        del container.items[index]
        for item in gone:
            item.refs -= 1
            self.discard(item)
        return True

    def fold_store(self, value: Value, container: Value, key: Value) -> bool:
        """`x[0:0] = [a]`, `x[0] = a`"""
        index = self.known_key(container, key)
        if index is None or not isinstance(container, Fresh) or container.kind != "list":
            return False
        if isinstance(index, slice):
            if not isinstance(value, Fresh) or value.name is not None:
                return False
            added = list(value.items)
            for item in added:
                item.refs += 1
            gone = container.items[index]
            container.items[index] = added
            self.discard(value)
        else:
            if not -len(container.items) <= index < len(container.items):
                return False
            gone = [container.items[index]]
            value.refs += 1
            container.items[index] = value
        for item in gone:
            item.refs -= 1
            self.discard(item)
        return True

    def fold_unpack(self, value: Value, count: int) -> bool:
        """`a, b = [x, y]` with both known; a tuple that is unpacked at once is left to the statement."""
        if not isinstance(value, Fresh) or value.name is not None or len(value.items) != count:
            return False
        if value.kind == "tuple" and (value.refs == 0 or self.is_chained(value, count)):
            return False
        for item in reversed(value.items):
            self.push(item)
        self.discard(value)
        return True

    def is_chained(self, value: Value, count: int) -> bool:
        """`a, b = c = x, y`: the tuple is unpacked, its elements are stored, and it is used again after that."""
        return value.refs == 1 and self.values[-1] is value and stored_one_by_one(*self.upcoming, count)

    @staticmethod
    def known_key(container: Value, key: Value) -> Any:
        """An index or slice that can be applied now, or None."""
        if not isinstance(container, Fresh) or container.name is not None or key.pending or key.name is not None:
            return None
        if any(isinstance(item.node, s.Starred) for item in container.items):
            return None
        node = key.node
        if isinstance(node, s.Constant) and key.items is None and type(node.value) is int:
            return node.value
        if isinstance(node, s.Slice):
            bounds = [_bound(part) for part in (node.lower, node.upper, node.step)]
            if all(bound is None or type(bound) is int for bound in bounds) and bounds[2] is None:
                return slice(*bounds)
        return None


def _bound(node: Optional[s.Expression]) -> Any:
    if node is None:
        return None
    return node.value if isinstance(node, s.Constant) else "unknown"
