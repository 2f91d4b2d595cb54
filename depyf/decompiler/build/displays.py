"""Displays and strings: what builds lists, tuples, sets, dicts, slices and f-strings."""

from __future__ import annotations

from typing import Any, List, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constants import constant_node
from depyf.decompiler.build.forms import (
    Converted,
    as_spec,
    constant_items,
    is_plain,
    is_plain_key,
    is_set,
    joined,
    none_if_none,
    set_elements,
)
from depyf.decompiler.build.targets import Targets
from depyf.decompiler.build.values import Fresh, FreshDict, SliceParts, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.python_facts import MOST_PAIRS_AT_ONCE, MOST_PAIRS_IN_TURN
from depyf.decompiler.bytecode.unstructured import Unstructured

CONVERSION_CODES = {"": -1, "s": 115, "r": 114, "a": 97}


class Displays(Targets):
    """Executes the micro-ops that build and fill containers."""

    # -- displays

    def op_build_sequence(self, op: Op) -> None:
        items = self.pop_many(op.arg)
        for item in items:
            item.refs += 1
        self.push(Fresh("list" if op.kind == "BUILD_LIST" else "tuple", items, op.offset))

    def op_build_set(self, op: Op) -> None:
        items = self.pop_many(op.arg)
        elements = self.take(*items) if items else [s.Starred(s.Tuple([]))]
        if len(elements) > 2 and all(isinstance(element, s.Constant) for element in elements):
            # The compiler would make a frozenset of these, which may iterate in another order.
            elements[-1] = s.Starred(s.Tuple([elements[-1]]))
        self.event(s.Set(elements))

    def op_build_map(self, op: Op) -> None:
        values = self.pop_many(2 * op.arg)
        keys = values[0::2]
        if all(is_plain(key) and is_plain_key(key.node) for key in keys):
            items = values[1::2]
            for item in items:
                item.refs += 1
            self.push(FreshDict([key.node for key in keys], items, op.offset))
            return
        if op.arg > MOST_PAIRS_AT_ONCE:
            self.flush()  # a key may run code as soon as it goes in: all values are computed before
        nodes = self.take(*values)
        pairs = list(zip(nodes[0::2], nodes[1::2]))
        first, rest = pairs[:MOST_PAIRS_IN_TURN], pairs[MOST_PAIRS_IN_TURN:]
        # The compiler would make a dict of the rest first, and compare its keys with each other before all others.
        apart: List[s.Expression] = [s.Dict([key], [value]) for key, value in rest]
        keys_now: List[Optional[s.Expression]] = [*(key for key, _ in first), *(None for _ in rest)]
        self.event(s.Dict(keys_now, [*(value for _, value in first), *apart]))

    def op_build_const_key_map(self, op: Op) -> None:
        keys = self.constant(self.pop())
        items = self.pop_many(op.arg)
        nodes: List[Optional[s.Expression]] = [constant_node(key, self.placeholders) for key in keys]
        if not all(node is not None and is_plain_key(node) for node in nodes):
            self.event(s.Dict(nodes, self.take(*items)))
            return
        for item in items:
            item.refs += 1
        self.push(FreshDict(nodes, items, op.offset))

    def op_build_slice(self, op: Op) -> None:
        values = self.pop_many(op.arg)
        if all(is_plain(value) for value in values):
            nodes = [value.node for value in values]
            self.silent(s.Slice(*(none_if_none(node) for node in nodes)))
            return
        if self.following == "STORE_SUBSCR":
            self.push(SliceParts(values, op.offset))
            return
        nodes = self.take(*values)
        self.event(s.Slice(*(none_if_none(node) for node in nodes)))

    def op_build_string(self, op: Op) -> None:
        self.event(joined(self.take(*self.pop_many(op.arg))))

    def op_convert(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(Converted(node, CONVERSION_CODES[op.arg]))

    def op_format(self, op: Op) -> None:
        conversion, has_spec = op.arg
        values = self.pop_many(1 + has_spec)
        nodes = self.take(*values)
        spec = as_spec(nodes[1]) if has_spec else None
        code = CONVERSION_CODES[conversion]
        node: s.Expression = nodes[0]
        if isinstance(node, Converted) and code < 0:
            code, node = node.conversion, node.value
        self.event(s.JoinedStr([s.FormattedValue(node, code, spec)]))

    def op_list_to_tuple(self, op: Op) -> None:
        value = self.pop()
        if isinstance(value, Fresh) and value.name is None and value.refs == 0:
            value.kind = "tuple"
            self.push(value)
            return
        (node,) = self.take(value)
        self.event(s.Tuple([s.Starred(node)]))

    def op_list_extend(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if not isinstance(target, Fresh) or target.name is not None:
            self.mutate(target, "extend", value)
            return
        # Where what is in it is known, the elements just join those before; else this is an operation of its own.
        is_known = not any(isinstance(item.node, s.Starred) for item in target.items)
        if isinstance(value, Fresh) and value.name is None and is_known:
            added = list(value.items)
            for item in added:
                item.refs += 1
            target.items.extend(added)
            self.discard(value)
            return
        constant = constant_items(value) if is_known else None
        if constant is not None:
            for item in constant:
                entry = Value(constant_node(item, self.placeholders), op.offset)
                entry.refs = 1
                target.items.append(entry)
            return
        (node,) = self.take(value)
        starred = Value(s.Starred(node), op.offset)
        self.add_pending(starred)
        starred.refs = 1
        target.items.append(starred)

    def op_list_append(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if isinstance(target, Fresh) and target.name is None:
            value.refs += 1
            target.items.append(value)
            return
        self.mutate(target, "append", value)

    def op_set_add(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if target.refs == 1 and target.pending and is_set(target.node):
            self.extend_set(op.arg, value, is_starred=False)
        else:
            self.mutate(target, "add", value)

    def op_set_update(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        node = target.node
        constant = constant_items(value)
        if target.pending and target.refs == 1 and self.pending[-1:] == [target] and is_set(node):
            if constant:
                added = [constant_node(item, self.placeholders) for item in constant]
                target.node = s.Set([*set_elements(node), *added])
                return
        if target.refs == 1 and target.pending and is_set(node):
            self.extend_set(op.arg, value, is_starred=True)
            return
        self.mutate(target, "update", value)

    def extend_set(self, depth: int, value: Value, is_starred: bool) -> None:
        """One more element for a set display on the stack, or several."""
        target = self.values[-depth]
        self.values[-depth] = merged = Value(target.node, target.offset)
        target.refs -= 1
        first, second = self.take(target, value)
        merged.node = s.Set([*set_elements(first), s.Starred(second) if is_starred else second])
        merged.refs = 1
        self.add_pending(merged)

    def op_dict_update(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if isinstance(target, FreshDict) and target.name is None:
            can_merge = isinstance(value, FreshDict) and takes_pairs(target, value, op.kind)
            if isinstance(value, FreshDict) and can_merge and value.name is None and value.refs == 0:
                target.keys.extend(value.keys)
                target.items.extend(value.items)
                return
            (node,) = self.take(value)
            entry = Value(node, op.offset)
            self.add_pending(entry)
            entry.refs = 1
            target.keys.append(None)
            target.items.append(entry)
            return
        if isinstance(target.node, s.Dict) and target.pending and target.refs == 1 and target.name is None:
            self.values[-op.arg] = merged = Value(target.node, op.offset)
            target.refs -= 1
            first, second = self.take(target, value)
            assert isinstance(first, s.Dict)
            merged.node = s.Dict([*first.keys, None], [*first.values, second])
            merged.refs = 1
            self.add_pending(merged)
            return
        self.mutate(target, "update", value)

    def op_map_add(self, op: Op) -> None:
        key, value = self.pop_many(2)
        target = self.values[-op.arg]
        if not isinstance(target, FreshDict) or target.name is not None:
            raise Unstructured("MAP_ADD on a dict that is in use")
        key_node, value_node = self.take(key, value)
        entry = Value(value_node, op.offset)
        self.add_pending(entry)
        entry.refs = 1
        target.keys.append(key_node)
        target.items.append(entry)

    def mutate(self, target: Value, method: str, value: Value) -> None:
        """A list or dict that has a name already, since it is to hold itself: `items += [...]`, `d |= {...}`."""
        if target.name is None or target.items is None:
            raise Unstructured(f"a container in use is changed by {method}")
        (node,) = self.take(value, final=True)
        if method == "append":
            node = s.List([node])
        self.emit(s.AugAssign(s.Name(target.name), "|" if isinstance(target, FreshDict) else "+", node))

    # -- helpers

    def constant(self, value: Value) -> Any:
        """The constant that was pushed."""
        if isinstance(value.node, s.Constant) and not value.pending and value.items is None:
            return value.node.value
        if isinstance(value.node, s.Placeholder):
            return value.node.value
        raise Unstructured("a constant was expected on the stack")


def takes_pairs(target: FreshDict, added: FreshDict, kind: str) -> bool:
    """Whether the pairs of a dict that is unpacked into another can be written as pairs of that one.

    After a mapping whose pairs are not known each dict is unpacked by an operation of its own: the compiler makes one
    for the pairs up to the next `**`. (In displays that is said in the end, see `spread`.)
    """
    if None not in target.keys:
        return kind == "DICT_UPDATE" or None not in added.keys
    return kind == "DICT_MERGE" and target.keys[-1] is None and bool(added.keys) and None not in added.keys
