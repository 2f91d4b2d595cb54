"""Assignments: stores to variables, attributes and items; augmented and chained assignment."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.definitions import define_function
from depyf.decompiler.build.effects import emit, flush, give_name, node_of, spill_until, take
from depyf.decompiler.build.expression_forms import as_item, is_constant
from depyf.decompiler.build.imports import store_imported, store_module
from depyf.decompiler.build.list_folding import fold_store
from depyf.decompiler.build.rebinding import before_rebinding
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import (
    FunctionValue,
    ImportedName,
    ImportValue,
    Marker,
    Null,
    Pattern,
    SliceParts,
    Slot,
    Value,
)
from depyf.decompiler.build.unpacking import assign, store_target
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import spelled
from depyf.decompiler.syntax.provisional import Inplace, Reference

_STORES_OR_DROP = STORES | {"POP"}
_MOST_TOGETHER = 3  # the compiler makes a tuple of more values than that


def op_store_variable(frame: Frame, op: Op) -> None:
    """Execute STORE_LOCAL, STORE_CELL, STORE_GLOBAL, STORE_NAME."""
    if frame.upcoming.kind not in _STORES_OR_DROP or not store_together(frame):
        store_variable(frame, op)


def store_variable(frame: Frame, op: Op) -> None:
    """Store the topmost value in a variable."""
    scope = frame.scope
    is_local = op.kind == "STORE_LOCAL"
    name = spelled(op.arg) if is_local else scope.bound_name(op)
    value = frame.stack.pop()
    if isinstance(value, Null):
        raise Unstructured("a variable is cleared")
    if type(value.node) is s.Name and is_self_store(frame, op, value):
        return
    if not is_local or op.arg not in scope.unread_before_store:
        before_rebinding(frame, name, value)
    store(frame, value, s.Name(name), is_local, is_event=not is_local and releases_old_value(frame, op))
    if op.arg in frame.output.generated and value.refs and value.pending:
        spill_until(frame, value)  # a statement: people write `:=`, code generators do not


def is_self_store(frame: Frame, op: Op, value: Value) -> bool:
    """Return whether a store is `x = x`, which code generators write, and nothing else can have changed x."""
    if not frame.scope.settings.is_generated:
        return False
    if op.kind != "STORE_LOCAL" and not (op.kind == "STORE_CELL" and frame.scope.is_private_cell(op.arg, op.offset)):
        return False
    is_read = type(value) is Value and value.name is None and not value.pending and not value.targets
    return is_read and isinstance(value.node, s.Name) and value.node.id == spelled(op.arg)


def releases_old_value(frame: Frame, op: Op) -> bool:
    """Return whether a store may run code at once: the variable may hold the last reference to any object."""
    return op.kind != "STORE_LOCAL" and not (op.kind == "STORE_CELL" and frame.scope.is_private_cell(op.arg, op.offset))


def store_together(frame: Frame) -> bool:
    """Write `a, b = x, y` for this store and those after it if all values were computed before; else do nothing."""
    stack = frame.stack
    run = stores_ahead(frame)
    plain = 0
    while plain < min(len(run), len(stack.values)) and is_plain_value(stack.values[-1 - plain]):
        plain += 1
    if plain < 2 or plain > _MOST_TOGETHER:
        return False
    del run[plain:]
    born = [value.born for value in stack.values[-1 : -1 - plain : -1]]
    backwards = born == sorted(born, reverse=True) and all(op.kind == "STORE_LOCAL" for op in run)
    if not backwards and (born != sorted(born) or len(set(map(id, run))) < plain):
        return False  # not computed in the order of the targets: separate statements
    values = [stack.pop() for _ in run]
    if backwards:  # the compiler stores to locals from the last to the first if that saves a SWAP
        run.reverse()
        values.reverse()
    names = [frame.scope.bound_name(op) for op in run]
    nodes = take(frame, *values, final=True, is_event=any(releases_old_value(frame, op) for op in run))
    for name in names:
        before_rebinding(frame, name)
    emit(frame, s.Assign([s.Tuple([s.Name(name) for name in names])], s.Tuple(nodes)))
    frame.upcoming.position += plain - 1
    return True


def stores_ahead(frame: Frame) -> List[Op]:
    """Return the current store and those that directly follow it.

    Of `b, b = x, y` the compiler stores y and then may drop x (3.13): such a drop counts as the store before it.
    """
    ops, position = frame.upcoming.ops, frame.upcoming.position - 1
    run: List[Op] = []
    for op in ops[position : position + _MOST_TOGETHER + 1]:
        if op.kind == "POP" and run and run[-1].kind == "STORE_LOCAL" and not frame.scope.settings.is_generated:
            op = run[-1]
        elif op.kind not in STORES:
            break
        run.append(op)
    return run


def op_swap(frame: Frame, op: Op) -> None:
    """Execute SWAP."""
    values = frame.stack.values
    if unpack_swapped(frame, op.arg):
        return
    if op.arg > len(values):
        raise Unstructured("SWAP reaches below the stack")
    values[-1], values[-op.arg] = values[-op.arg], values[-1]


def unpack_swapped(frame: Frame, count: int) -> bool:
    """Open the pattern of `a.b, c = x, y`: two or three values are swapped so that they can be stored in order."""
    stack, ops, position = frame.stack, frame.upcoming.ops, frame.upcoming.position
    values = stack.values[-count:]
    if count not in (2, 3) or len(values) < count or not all(map(is_plain_value, values)):
        return False
    born = [value.born for value in values]
    if born != sorted(born) or not frame.upcoming.store_one_by_one(count):
        return False
    if all(op.kind in STORES for op in ops[position : position + count]):
        return False  # `store_together` writes it
    nodes = take(frame, *stack.pop_many(count), final=True)
    killed = stack.take_killed()
    flush(frame)
    pattern = Pattern(count, -1, (s.Tuple(nodes), [], killed, frame.output.offset))
    pattern.slots = [Slot(pattern, index, frame.output.offset) for index in range(count)]
    for slot in reversed(pattern.slots):
        stack.push(slot)
    return True


def is_plain_value(value: Value) -> bool:
    """Return whether a value is on the stack once and an expression can stand for it, such as `(a := x)`."""
    if isinstance(value, FunctionValue):
        return value.refs == 1 and value.name is None and isinstance(value.node, s.Lambda)
    return (
        value.refs == 1
        and value.name is None
        and not isinstance(value, (Slot, Marker, Null, ImportValue, ImportedName))
    )


def store(frame: Frame, value: Value, target: s.Expression, is_local: bool = False, is_event: bool = False) -> None:
    """Assign a popped value.

    `is_local`: the variable can be read again without effect. `is_event`: the assignment may run code, because it
    releases what the target held.
    """
    if value.refs > 0 and value.name is None and type(value) is Value:
        store_in_use(frame, value, target, is_local, is_event)
    elif isinstance(value, Slot) and value.name is None:
        store_target(frame, value, target)
    elif isinstance(value, ImportedName):
        store_imported(frame, value, target)
    elif isinstance(value, ImportValue):
        store_module(frame, value, target)
    elif value.refs > 0 and value.name is None and not isinstance(value, (Marker, Null)):
        is_statement = isinstance(value, FunctionValue) and not isinstance(value.node, s.Lambda)
        if value.items is not None or is_statement:
            store_shared(frame, value, target, is_local)
        else:
            store_in_use(frame, value, target, is_local, is_event)
    elif value.targets:
        value.targets += (target,)
        finish_targets(frame, value)
    elif isinstance(value, FunctionValue) and isinstance(target, s.Name) and define_function(frame, value, target.id):
        pass
    else:
        assign(frame, value, target, is_event)


def store_in_use(frame: Frame, value: Value, target: s.Expression, is_local: bool, is_event: bool) -> None:
    """Assign a value that stays in use and that an expression can stand for: other targets, or its use, may follow."""
    if value.pending and (value.kills or frame.stack.pending[-1] is not value):
        flush(frame)  # cannot be inlined: an effect intervened, or its operands die here
        assign(frame, value, target, is_event)
        return
    value.targets += (target,)
    if is_local:
        value.locals += (target,)
    if not value.pending:
        frame.stack.add_pending(value)


def store_shared(frame: Frame, value: Value, target: s.Expression, is_local: bool) -> None:
    """Assign a value that stays in use and that only a statement or a display can make.

    A local variable is its name from now on. Any other variable cannot be read again without effect, so a container
    waits for its next use (`:=`, or another target); not where a code generator stored it: there a statement of its own
    is easier to read.
    """
    stack = frame.stack
    waits = not (is_local and isinstance(target, s.Name) and target.id in frame.output.generated) or stack.around
    if waits and value.items is not None and value.refs == 1 and stack.values[-1] is value:
        value.refs = 0
        (node,) = take(frame, value)
        stack.values[-1] = waiting = Value(node, value.offset)
        waiting.refs = 1
        waiting.targets = (target,)
        waiting.kills = stack.take_killed()
        stack.add_pending(waiting)
        return
    if not isinstance(target, s.Name):
        give_name(frame, value)
        emit(frame, s.Assign([target], node_of(frame, value)))
        return
    held, value.refs = value.refs, 0
    (node,) = take(frame, value, final=True)
    value.refs = held
    emit(frame, s.Assign([target], node))
    value.name = target.id


def finish_targets(frame: Frame, value: Value) -> None:
    """Write `a = b = value` once the last target is known."""
    targets, value.targets = list(value.targets), ()
    (node,) = take(frame, value, final=True)
    emit(frame, s.Assign(targets, node))


def op_store_attr(frame: Frame, op: Op) -> None:
    """Execute STORE_ATTR."""
    value, owner = frame.stack.pop_many(2)
    if write_augmented(frame, value, (owner,), op.arg):
        return
    store_into(frame, value, (owner,), lambda nodes: s.Attribute(nodes[0], op.arg))


def op_store_subscr(frame: Frame, op: Op) -> None:
    """Execute STORE_SUBSCR."""
    value, owner, key = frame.stack.pop_many(3)
    if fold_store(frame, value, owner, key):
        return
    places = [owner, *(key.parts if isinstance(key, SliceParts) else [key])]
    if not write_augmented(frame, value, places, None):
        store_into(frame, value, places, as_item)


def store_into(frame: Frame, value: Value, places: Sequence[Value], make: Any) -> None:
    """Assign to an attribute or an item. Python computes the value first, then the place."""
    if isinstance(value, (Slot, ImportedName, ImportValue)) or value.refs > 0 or value.targets:
        store(frame, value, make(take(frame, *places)))
        return
    nodes = take(frame, value, *places, final=True, is_event=True)
    emit(frame, s.Assign([make(nodes[1:])], nodes[0]))


def write_augmented(frame: Frame, value: Value, places: Sequence[Value], attribute: Optional[str]) -> bool:
    """Write `x.y += v` or `x[k] += v` if the place was computed once and used twice; else do nothing."""
    node = value.node
    if not isinstance(node, Inplace) or value.refs or value.name is not None or not value.pending:
        return False
    read = node.left
    parts: Sequence[Any]
    if attribute is not None:
        if not isinstance(read, s.Attribute) or read.attr != attribute:
            return False
        parts = (read.value,)
    else:
        if not isinstance(read, s.Subscript):
            return False
        parts = (read.value, read.slice)
        if len(places) > 2 and isinstance(read.slice, s.Slice):
            parts = (read.value, read.slice.lower, read.slice.upper, read.slice.step)[: len(places)]
    if len(parts) != len(places) or not all(reads_place(part, place) for part, place in zip(parts, places)):
        return False
    waiting = [place for place in places if place.pending]
    if frame.stack.pending[-len(waiting) - 1 :] != [*waiting, value] or any(place.refs for place in places):
        raise Unstructured("the place of an augmented assignment is in use")
    del frame.stack.pending[-len(waiting) - 1 :]
    nodes = []
    for place in places:
        place.pending = False
        nodes.extend(take(frame, place, final=True))
    target = s.Attribute(nodes[0], attribute) if attribute is not None else as_item(nodes)
    emit(frame, s.AugAssign(target, node.op, node.right))
    return True


def reads_place(part: Optional[s.Expression], place: Value) -> bool:
    """Return whether `part` of an expression is the value of `place`."""
    if part is place.node or (part is None and is_constant(place, None)):
        return True
    if isinstance(part, Reference):
        return part.value is place
    if isinstance(part, s.Slice) and isinstance(place.node, s.Slice) and not place.pending:
        return s.same(part, place.node)
    return isinstance(part, s.Name) and part.id == place.name
