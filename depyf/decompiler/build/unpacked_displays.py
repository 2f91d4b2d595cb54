"""Displays and arguments that unpack, as 3.8 makes them: all parts are computed, then one operation unpacks them."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constant_nodes import constant_node
from depyf.decompiler.build.effects import event, take
from depyf.decompiler.build.expression_forms import constant_items, is_keyword
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Addition, BuildClass, Fresh, FreshDict, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.syntax.provisional import CallArguments, CallKeywords

_DISPLAYS: Dict[str, Callable[[List[s.Expression]], s.Expression]] = {
    "list": s.List, "tuple": s.Tuple, "set": s.Set, "arguments": CallArguments,
}  # fmt: skip


def op_build_unpacked(frame: Frame, op: Op) -> None:
    """Execute BUILD_UNPACKED."""
    what, count = op.arg
    values = frame.stack.pop_many(count)
    if what in ("dict", "keywords"):
        _unpack_mappings(frame, what, values)
        return
    parts = _elements(frame, values)
    if what == "arguments" and frame.stack.values and isinstance(frame.stack.values[-1], BuildClass):
        frame.stack.push(Fresh("tuple", _class_arguments(frame, parts, op.offset), op.offset))
        return
    nodes = take(frame, *(value for value, _ in parts))
    event(frame, _DISPLAYS[what]([s.Starred(node) if star else node for node, (_, star) in zip(nodes, parts)]))


def _elements(frame: Frame, values: List[Value]) -> List[Tuple[Value, bool]]:
    """Return (value, whether it is unpacked); the compiler makes a tuple of the elements between two `*`."""
    parts: List[Tuple[Value, bool]] = []
    is_after_elements = len(values) == 1
    for value in values:
        constant = constant_items(value)
        if is_after_elements or value.refs or value.name is not None:
            is_after_elements = False
        elif isinstance(value, Fresh) and value.kind == "tuple" and value.items:
            for item in value.items:
                item.refs -= 1
            parts.extend((item, False) for item in value.items)
            is_after_elements = True
            continue
        elif constant and isinstance(constant, tuple):
            parts.extend((Value(constant_node(item, frame.scope.placeholders)), False) for item in constant)
            is_after_elements = True
            continue
        elif isinstance(value.node, s.Set) and value.pending and len(value.node.elts) == 1:
            if not isinstance(value.node.elts[0], s.Starred):
                value.node = value.node.elts[0]
                parts.append((value, False))
                is_after_elements = True
                continue
        parts.append((value, True))
    return parts


def _class_arguments(frame: Frame, parts: List[Tuple[Value, bool]], offset: int) -> List[Value]:
    """Return the arguments of a class statement: its function is no expression."""
    items: List[Value] = []
    for value, is_unpacked in parts:
        if is_unpacked:
            (node,) = take(frame, value)
            value = Addition(s.Starred(node), offset)
            frame.stack.add_pending(value)
        value.refs += 1
        items.append(value)
    return items


def _unpack_mappings(frame: Frame, what: str, values: List[Value]) -> None:
    """Write `{**a, b: c}`, or collect the keyword arguments of a call."""
    parts: List[Tuple[Optional[s.Expression], Value]] = []
    is_after_pairs = len(values) == 1
    for value in values:
        if isinstance(value, FreshDict) and not is_after_pairs and _can_be_pairs(value, what == "keywords"):
            for item in value.items:
                item.refs -= 1
            parts.extend(zip(value.keys, value.items))
            is_after_pairs = True
        else:
            parts.append((None, value))
            is_after_pairs = False
    nodes = take(frame, *(value for _, value in parts))
    keys = [key for key, _ in parts]
    if what == "dict":
        event(frame, s.Dict(keys, nodes))
        return
    names = [key.value if isinstance(key, s.Constant) else None for key in keys]
    event(frame, CallKeywords([s.keyword(name, node) for name, node in zip(names, nodes)]))


def _can_be_pairs(value: FreshDict, as_keywords: bool) -> bool:
    if value.refs or value.name is not None or not value.keys or None in value.keys:
        return False
    return not as_keywords or all(key is not None and is_keyword(key) for key in value.keys)
