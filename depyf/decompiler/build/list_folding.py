"""Operations on lists and tuples made here: they happen now and leave nothing to write."""

from __future__ import annotations

from typing import Any, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import discard
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Fresh, Value


def fold_subscript(frame: Frame, container: Value, key: Value) -> bool:
    """Push the element or slice of `[a, b][0]` or `[a, b][0:1]`; False if it is not known."""
    index = known_index(frame, container, key)
    if index is None:
        return False
    assert isinstance(container, Fresh)
    try:
        found = container.items[index]
    except IndexError:
        return False
    kept = found if isinstance(found, list) else [found]
    if container.refs == 0 and any(item.pending and item not in kept for item in container.items):
        return False  # `(f(), x)[1]`: the other elements have effects
    if isinstance(found, list):
        for item in found:
            item.refs += 1
        frame.stack.push(Fresh(container.kind, list(found), frame.output.offset))
    else:
        frame.stack.push(found)
    discard(frame, container)
    return True


def fold_delete(frame: Frame, container: Value, key: Value) -> bool:
    """Execute `del x[-1]`; False if the index is not known."""
    index = known_index(frame, container, key)
    if index is None or not isinstance(container, Fresh) or container.kind != "list":
        return False
    gone = container.items[index] if isinstance(index, slice) else [container.items[index]]
    del container.items[index]
    for item in gone:
        item.refs -= 1
        discard(frame, item)
    return True


def fold_store(frame: Frame, value: Value, container: Value, key: Value) -> bool:
    """Execute `x[0:0] = [a]` or `x[0] = a`; False if the index is not known."""
    index = known_index(frame, container, key)
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
        discard(frame, value)
    else:
        if not -len(container.items) <= index < len(container.items):
            return False
        gone = [container.items[index]]
        value.refs += 1
        container.items[index] = value
    for item in gone:
        item.refs -= 1
        discard(frame, item)
    return True


def fold_unpack(frame: Frame, value: Value, count: int) -> bool:
    """Push the elements for `a, b = [x, y]`; False if they are not known, or if a person wrote that statement."""
    if not isinstance(value, Fresh) or value.name is not None or len(value.items) != count:
        return False
    is_statement = value.kind == "tuple" or not frame.scope.settings.is_generated
    if is_statement and (value.refs == 0 or is_chained(frame, value, count)):
        return False
    for item in reversed(value.items):
        frame.stack.push(item)
    discard(frame, value)
    return True


def is_chained(frame: Frame, value: Value, count: int) -> bool:
    """Return whether the code is `a, b = c = x, y`: a tuple is unpacked, its elements stored, and it is used again."""
    return value.refs == 1 and frame.stack.values[-1] is value and frame.upcoming.store_one_by_one(count)


def known_index(frame: Frame, container: Value, key: Value) -> Any:
    """Return an index or slice that can be applied now, or None; a person who writes `[x, y][0]` wants to read that."""
    if container.refs == 0 and not frame.scope.settings.is_generated:
        return None
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
