"""Displays and strings: the operations that build lists, tuples, sets, dicts, slices and f-strings."""

from __future__ import annotations

from typing import List, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constant_nodes import constant_node
from depyf.decompiler.build.effects import discard, emit, event, flush, silent, take
from depyf.decompiler.build.expression_forms import (
    as_spec,
    constant_items,
    constant_of,
    is_plain,
    is_plain_key,
    joined,
    set_elements,
    slice_bound,
)
from depyf.decompiler.build.parameter_lists import elements
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Addition, Fresh, FreshDict, SliceParts, Value
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.python_facts import LEAST_IN_CONSTANT_SET, MOST_PAIRS_AT_ONCE, MOST_PAIRS_IN_TURN
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import Converted

CONVERSION_CODES = {"": -1, "s": 115, "r": 114, "a": 97}


def op_build_sequence(frame: Frame, op: Op) -> None:
    """Execute BUILD_LIST, BUILD_TUPLE."""
    items = frame.stack.pop_many(op.arg)
    for item in items:
        item.refs += 1
    frame.stack.push(Fresh("list" if op.kind == "BUILD_LIST" else "tuple", items, op.offset))


def op_build_set(frame: Frame, op: Op) -> None:
    """Execute BUILD_SET."""
    items = frame.stack.pop_many(op.arg)
    elements = take(frame, *items) if items else [s.Starred(s.Tuple([]))]
    is_made_otherwise = facts_of(frame.scope.code).constant_sets_are_unpacked and len(elements) >= LEAST_IN_CONSTANT_SET
    if is_made_otherwise and all(isinstance(element, s.Constant) for element in elements):
        # The compiler would make a frozenset of these, which may iterate in another order.
        elements[-1] = s.Starred(s.Tuple([elements[-1]]))
    event(frame, s.Set(elements))


def op_build_map(frame: Frame, op: Op) -> None:
    """Execute BUILD_MAP."""
    values = frame.stack.pop_many(2 * op.arg)
    keys = values[0::2]
    if all(is_plain(key) and is_plain_key(key.node) for key in keys):
        items = values[1::2]
        for item in items:
            item.refs += 1
        frame.stack.push(FreshDict([key.node for key in keys], items, op.offset))
        return
    is_filled = op.arg > MOST_PAIRS_AT_ONCE and not facts_of(frame.scope.code).large_displays_are_built_at_once
    if is_filled:
        flush(frame)  # all values are computed before the first key is hashed, which may run code
    nodes = take(frame, *values)
    pairs = list(zip(nodes[0::2], nodes[1::2]))
    in_turn = MOST_PAIRS_IN_TURN if is_filled else op.arg
    first, rest = pairs[:in_turn], pairs[in_turn:]
    # The compiler would make a dict of the rest first, and compare its keys with each other before all others.
    later: List[s.Expression] = [s.Dict([key], [value]) for key, value in rest]
    keys_now: List[Optional[s.Expression]] = [*(key for key, _ in first), *(None for _ in rest)]
    event(frame, s.Dict(keys_now, [*(value for _, value in first), *later]))


def op_build_const_key_map(frame: Frame, op: Op) -> None:
    """Execute BUILD_CONST_KEY_MAP."""
    stack = frame.stack
    keys = constant_of(stack.pop())
    items = stack.pop_many(op.arg)
    nodes: List[Optional[s.Expression]] = [constant_node(key, frame.scope.placeholders) for key in keys]
    if not all(node is not None and is_plain_key(node) for node in nodes):
        event(frame, s.Dict(nodes, take(frame, *items)))
        return
    for item in items:
        item.refs += 1
    stack.push(FreshDict(nodes, items, op.offset))


def op_build_slice(frame: Frame, op: Op) -> None:
    """Execute BUILD_SLICE."""
    values = frame.stack.pop_many(op.arg)
    if all(is_plain(value) for value in values):
        nodes = [value.node for value in values]
        silent(frame, s.Slice(*(slice_bound(node) for node in nodes)))
        return
    if frame.upcoming.kind == "STORE_SUBSCR":
        frame.stack.push(SliceParts(values, op.offset))
        return
    nodes = take(frame, *values)
    event(frame, s.Slice(*(slice_bound(node) for node in nodes)))


def op_build_string(frame: Frame, op: Op) -> None:
    """Execute BUILD_STRING: the pieces of an f-string."""
    event(frame, joined(take(frame, *frame.stack.pop_many(op.arg))))


def op_convert(frame: Frame, op: Op) -> None:
    """Execute CONVERT: `!r` of an f-string."""
    (node,) = take(frame, frame.stack.pop())
    event(frame, Converted(node, CONVERSION_CODES[op.arg]))


def op_format(frame: Frame, op: Op) -> None:
    """Execute FORMAT: `{x:spec}` of an f-string."""
    conversion, has_spec = op.arg
    values = frame.stack.pop_many(1 + has_spec)
    nodes = take(frame, *values)
    spec = as_spec(nodes[1]) if has_spec else None
    code = CONVERSION_CODES[conversion]
    node: s.Expression = nodes[0]
    if isinstance(node, Converted) and code < 0:
        code, node = node.conversion, node.value
    event(frame, s.JoinedStr([s.FormattedValue(node, code, spec)]))


def op_build_interpolation(frame: Frame, op: Op) -> None:
    """Execute BUILD_INTERPOLATION: `{value!r:spec}` of a template string."""
    conversion, has_spec = op.arg
    values = frame.stack.pop_many(2 + has_spec)
    nodes = take(frame, values[0], *values[2:])
    spec = as_spec(nodes[1]) if has_spec else None
    code = CONVERSION_CODES[conversion]
    event(frame, s.Interpolation(nodes[0], constant_of(values[1]), code, spec))


def op_build_template(frame: Frame, op: Op) -> None:
    """Execute BUILD_TEMPLATE."""
    strings, fields = frame.stack.pop_many(2)
    texts = constant_of(strings)
    nodes = elements(take(frame, fields)[0])
    if not isinstance(texts, tuple) or len(texts) != len(nodes) + 1:
        raise Unstructured("a template of an unknown form")
    values: List[s.Expression] = [s.Constant(texts[0])] if texts[0] else []
    for node, text in zip(nodes, texts[1:]):
        values.append(node)
        if text:
            values.append(s.Constant(text))
    event(frame, s.TemplateStr(values))


def op_list_to_tuple(frame: Frame, op: Op) -> None:
    """Execute LIST_TO_TUPLE."""
    value = frame.stack.pop()
    if isinstance(value, Fresh) and value.name is None and value.refs == 0:
        value.kind = "tuple"
        frame.stack.push(value)
        return
    (node,) = take(frame, value)
    event(frame, s.Tuple([s.Starred(node)]))


def op_list_extend(frame: Frame, op: Op) -> None:
    """Execute LIST_EXTEND."""
    stack = frame.stack
    value = stack.pop()
    target = stack.values[-op.arg]
    if not isinstance(target, Fresh) or target.name is not None:
        mutate(frame, target, "extend", value)
        return
    # If all elements are known, these join them; with a `*x` among them this is an operation of its own.
    is_known = not any(isinstance(item, Addition) for item in (*target.items, *(value.items or ())))
    if isinstance(value, Fresh) and value.name is None and is_known:
        added = list(value.items)
        for item in added:
            item.refs += 1
        target.items.extend(added)
        discard(frame, value)
        return
    constant = constant_items(value) if is_known else None
    if constant is not None:
        for item in constant:
            entry = Value(constant_node(item, frame.scope.placeholders), op.offset)
            entry.refs = 1
            target.items.append(entry)
        return
    (node,) = take(frame, value)
    starred = Addition(s.Starred(node), op.offset)
    stack.add_pending(starred)
    starred.refs = 1
    target.items.append(starred)


def op_list_append(frame: Frame, op: Op) -> None:
    """Execute LIST_APPEND."""
    value = frame.stack.pop()
    target = frame.stack.values[-op.arg]
    if isinstance(target, Fresh) and target.name is None:
        value.refs += 1
        target.items.append(value)
        return
    mutate(frame, target, "append", value)


def op_set_add(frame: Frame, op: Op) -> None:
    """Execute SET_ADD."""
    value = frame.stack.pop()
    target = frame.stack.values[-op.arg]
    if target.refs == 1 and target.pending and isinstance(target.node, s.Set):
        extend_set(frame, op.arg, value, is_starred=False)
    else:
        mutate(frame, target, "add", value)


def op_set_update(frame: Frame, op: Op) -> None:
    """Execute SET_UPDATE."""
    stack = frame.stack
    value = stack.pop()
    target = stack.values[-op.arg]
    node = target.node
    constant = constant_items(value)
    if target.pending and target.refs == 1 and stack.pending[-1:] == [target] and isinstance(node, s.Set):
        if constant and isinstance(constant_of(value), frozenset):
            added = [constant_node(item, frame.scope.placeholders) for item in constant]
            added += added[:1] * (LEAST_IN_CONSTANT_SET - len(added))  # where it has too few, one was written twice
            target.node = s.Set([*set_elements(node), *added])
            return
    if target.refs == 1 and target.pending and isinstance(node, s.Set):
        extend_set(frame, op.arg, value, is_starred=True)
        return
    mutate(frame, target, "update", value)


def extend_set(frame: Frame, depth: int, value: Value, is_starred: bool) -> None:
    """Add an element to a set display on the stack, or the elements of an iterable."""
    stack = frame.stack
    target = stack.values[-depth]
    stack.values[-depth] = merged = Value(target.node, target.offset)
    target.refs -= 1
    first, second = take(frame, target, value)
    merged.node = s.Set([*set_elements(first), s.Starred(second) if is_starred else second])
    merged.refs = 1
    stack.add_pending(merged)


def op_dict_update(frame: Frame, op: Op) -> None:
    """Execute DICT_UPDATE, DICT_MERGE."""
    stack = frame.stack
    value = stack.pop()
    target = stack.values[-op.arg]
    if isinstance(target, FreshDict) and target.name is None:
        can_merge = isinstance(value, FreshDict) and takes_pairs(target, value, op.kind)
        if isinstance(value, FreshDict) and can_merge and value.name is None and value.refs == 0:
            target.keys.extend(value.keys)
            target.items.extend(value.items)
            return
        (node,) = take(frame, value)
        entry = Addition(node, op.offset)
        stack.add_pending(entry)
        entry.refs = 1
        target.keys.append(None)
        target.items.append(entry)
        return
    if isinstance(target.node, s.Dict) and target.pending and target.refs == 1 and target.name is None:
        stack.values[-op.arg] = merged = Value(target.node, op.offset)
        target.refs -= 1
        first, second = take(frame, target, value)
        if not isinstance(first, s.Dict):
            raise Unstructured("DICT_UPDATE on a dict that is in use")
        merged.node = s.Dict([*first.keys, None], [*first.values, second])
        merged.refs = 1
        stack.add_pending(merged)
        return
    mutate(frame, target, "update", value)


def op_map_add(frame: Frame, op: Op) -> None:
    """Execute MAP_ADD."""
    stack = frame.stack
    key, value = stack.pop_many(2)
    target = stack.values[-op.arg]
    if not isinstance(target, FreshDict) or target.name is not None:
        raise Unstructured("MAP_ADD on a dict that is in use")
    key_node, value_node = take(frame, key, value)
    entry = Addition(value_node, op.offset)
    stack.add_pending(entry)
    entry.refs = 1
    target.keys.append(key_node)
    target.items.append(entry)


def mutate(frame: Frame, target: Value, method: str, value: Value) -> None:
    """Write `items += [...]` or `d |= {...}` for a container that has a name already, because it is to hold itself."""
    if target.name is None or target.items is None:
        raise Unstructured(f"a container in use is changed by {method}")
    (node,) = take(frame, value, final=True)
    if method == "append":
        node = s.List([node])
    emit(frame, s.AugAssign(s.Name(target.name), "|" if isinstance(target, FreshDict) else "+", node))


def takes_pairs(target: FreshDict, added: FreshDict, kind: str) -> bool:
    """Return whether the pairs of a dict that is unpacked into another can be written as pairs of that one.

    After a mapping whose pairs are not known each dict is unpacked by an operation of its own: the compiler makes one
    for the pairs up to the next `**`. (`provisional_nodes.spread` writes those of displays as pairs in the end.)
    """
    if None not in target.keys:
        return None not in added.keys
    return kind == "DICT_MERGE" and target.keys[-1] is None and bool(added.keys) and None not in added.keys
