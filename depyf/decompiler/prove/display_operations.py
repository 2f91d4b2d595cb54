"""Operations that make and change containers: silent on fresh ones, events on anything else."""

from __future__ import annotations

from typing import Callable, Dict, List

from depyf.decompiler.prove.flat_program import ADVANCE, Plan
from depyf.decompiler.prove.machine_state import DICT, LIST, SET, Pair, Side
from depyf.decompiler.prove.symbolic_machine import STOP, Machine, Special, Unsupported, plain, replace
from depyf.decompiler.prove.terms import BOOL, CONST, NOT, TUPLE


def _build_tuple(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    made = m.containers.make_tuple(side, side.stack[len(side.stack) - size :])
    return replace(side, size, made) if made else plain(side, ("BUILD_TUPLE", size), size, size, 1)


def _build_list(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    side.touched = True
    return replace(side, size, m.containers.make(side, LIST, side.stack[len(side.stack) - size :]))


def _build_set(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    items = side.stack[len(side.stack) - size :]
    if not all(map(m.containers.plain_key, items)):
        return plain(side, ("BUILD_SET", size), size, size, 1)
    side.touched = True
    return replace(side, size, m.containers.make(side, SET, items))


def _build_slice(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    parts = tuple(side.stack[-size:])
    if min(parts) < 0 or m.terms.too_deep(parts):
        return plain(side, ("BUILD_SLICE", size), size, size, 1)
    return replace(side, size, m.terms.slice_of(parts))


def _build_map(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = 2 * plan.arg[side.pc]
    entries = side.stack[len(side.stack) - size :]
    made = m.containers.make_dict(side, entries[::2], entries[1::2])
    if made is None:
        return plain(side, ("BUILD_MAP", size), size, size, 1)
    side.touched = True
    return replace(side, size, made)


def _build_const_key_map(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    keys = m.containers.elements(side, side.stack[-1])
    values = side.stack[-size - 1 : -1]
    if keys is None or len(keys) != size:
        raise Unsupported("a dict display whose keys are not a constant tuple")
    made = m.containers.make_dict(side, keys, values)
    if made is None:
        operands = [operand for entry in zip(keys, values) for operand in entry]
        side.event = (("BUILD_MAP", 2 * size), operands, size + 1, 1, ADVANCE, 0)
        return STOP
    side.touched = True
    return replace(side, size + 1, made)


def _into(container_op: Callable[[Machine, Side, int, List[int]], bool], taken: int) -> Special:
    """Return the function of an op that pops `taken` entries and changes the container arg-th from the top then."""

    def special(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
        stack = side.stack
        at = len(stack) - taken - plan.arg[side.pc]
        values = stack[-taken:]
        side.touched = True
        if container_op(m, side, stack[at], values):
            del stack[-taken:]
            return side.pc + 1
        side.event = ((plan.ops[side.pc].kind,), [stack[at], *values], taken, 0, ADVANCE, 0)
        return STOP

    return special


def _append(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, LIST)
    if container is None:
        return False
    container.items.append(values[0])
    side.rewrites += container.nested
    return True


def _extend(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, LIST)
    new = m.containers.elements(side, values[0])
    if container is None or new is None:
        return False
    container.items.extend(new[:])
    side.rewrites += container.nested
    return True


def _add_to_set(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, SET)
    if container is None or not m.containers.plain_key(values[0]):
        return False
    container.items.append(values[0])
    side.rewrites += container.nested
    return True


def _update_set(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, SET)
    value = side.resolve(values[0])
    if container is not None and value == m.terms.const(()):
        return True  # `{*()}`, the only spelling of an empty set
    if container is not None and value > 0 and m.terms.kinds[value] & TUPLE:
        parts = m.terms.data[value]
        if all(map(m.containers.plain_key, parts)):
            container.items.extend(parts)
            side.rewrites += container.nested
            return True
    if container is None or value < 0 or type(m.terms.data[value]) is not frozenset or not m.terms.kinds[value] & CONST:
        return False
    if not all(map(m.containers.plain_key, map(m.terms.const, m.terms.data[value]))):
        return False
    only = m.terms.data[value]
    # Two or more elements are inserted in the frozenset's own order, so the frozenset stays one item.
    container.items.append(m.terms.const(*only) if len(only) == 1 else value)
    side.rewrites += container.nested
    return True


def _update_dict(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    side.rewrites += 1
    return m.containers.update_dict(side, target, values[0], merge=False)


def _merge_dict(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    side.rewrites += 1
    return m.containers.update_dict(side, target, values[0], merge=True)


def _add_to_map(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    container = m.containers.container(side, target, DICT)
    if container is None:
        return False
    side.rewrites += container.nested or values[0] in (container.where or ())
    return m.containers.set_item(side, target, *values)


def _add_backwards(m: Machine, side: Side, target: int, values: List[int]) -> bool:
    return _add_to_map(m, side, target, values[::-1])


def _inplace(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """Run `x += y` silently on a fresh list and `x |= y` on a fresh dict."""
    operator = plan.arg[side.pc]
    change = _extend if operator == "+" else _update_dict if operator == "|" else None
    if change is None or not change(m, side, side.stack[-2], side.stack[-1:]):
        return plain(side, ("INPLACE", operator), 2, 2, 1)
    side.touched = True
    side.stack.pop()
    return side.pc + 1


def _list_to_tuple(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    known = m.containers.elements(side, side.stack[-1])
    made = 0 if known is None else m.containers.make_tuple(side, known[:])
    return replace(side, 1, made) if made else plain(side, ("LIST_TO_TUPLE",), 1, 1, 1)


def _subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    value, key = side.stack[-2:]
    found = m.containers.get_item(side, value, key)
    return plain(side, ("SUBSCR",), 2, 2, 1) if found is None else replace(side, 2, found)


def _store_subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    value, target, key = side.stack[-3:]
    if not m.containers.set_item(side, target, key, value):
        return plain(side, ("STORE_SUBSCR",), 3, 3, 0)
    side.touched = True
    side.rewrites += 1
    del side.stack[-3:]
    return side.pc + 1


def _delete_subscr(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    target, key = side.stack[-2:]
    if not m.containers.delete_item(side, target, key):
        return plain(side, ("DELETE_SUBSCR",), 2, 2, 0)
    side.touched = True
    side.rewrites += 1
    del side.stack[-2:]
    return side.pc + 1


def _unpack(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    size = plan.arg[side.pc]
    known = m.containers.elements(side, side.stack[-1])
    if known is None or len(known) != size:
        return plain(side, ("UNPACK", size), 1, 1, size)
    side.stack.pop()
    side.stack.extend(known[::-1])
    return side.pc + 1


def _unpack_ex(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    before, after = plan.arg[side.pc]
    known = m.containers.elements(side, side.stack[-1])
    if known is None or len(known) < before + after:
        return plain(side, ("UNPACK_EX", before, after), 1, 1, before + 1 + after)
    middle = m.containers.make(side, LIST, known[before : len(known) - after])
    side.touched = True
    side.stack.pop()
    side.stack.extend((known[:before] + [middle] + known[len(known) - after :])[::-1])
    return side.pc + 1


def _contains(m: Machine, plan: Plan, side: Side, pair: Pair) -> int:
    """Stop at the one event of `in` and `not in`; the property NOT negates its result."""
    element, container = side.stack[-2:]
    properties = BOOL | NOT if plan.arg[side.pc] else BOOL
    side.event = (
        ("CONTAINS",),
        [element, m.containers.membership(side, container)],
        2,
        1,
        ADVANCE,
        properties,
    )
    return STOP


DISPLAYS: Dict[str, Special] = {
    "BUILD_TUPLE": _build_tuple, "BUILD_LIST": _build_list, "BUILD_SET": _build_set,
    "BUILD_SLICE": _build_slice, "BUILD_MAP": _build_map,
    "BUILD_CONST_KEY_MAP": _build_const_key_map, "LIST_TO_TUPLE": _list_to_tuple,
    "LIST_APPEND": _into(_append, 1), "LIST_EXTEND": _into(_extend, 1), "SET_ADD": _into(_add_to_set, 1),
    "SET_UPDATE": _into(_update_set, 1), "DICT_UPDATE": _into(_update_dict, 1),
    "DICT_MERGE": _into(_merge_dict, 1), "MAP_ADD": _into(_add_to_map, 2),
    "MAP_ADD_VALUE_FIRST": _into(_add_backwards, 2), "INPLACE": _inplace,
    "SUBSCR": _subscr, "STORE_SUBSCR": _store_subscr,
    "DELETE_SUBSCR": _delete_subscr, "UNPACK": _unpack, "UNPACK_EX": _unpack_ex, "CONTAINS": _contains,
}  # fmt: skip
