"""Handlers that move, read and delete: stack entries, constants, variables, attributes and items."""

from __future__ import annotations

from typing import Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build.assignments import finish_targets
from depyf.decompiler.build.constant_nodes import constant_node
from depyf.decompiler.build.effects import discard, emit, event, flush, silent, take, take_one
from depyf.decompiler.build.imports import finish_import
from depyf.decompiler.build.list_folding import fold_delete, fold_subscript
from depyf.decompiler.build.rebinding import before_rebinding, freeze_tuple
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Cell, Fresh, FreshDict, ImportValue, Marker, Null, Slot
from depyf.decompiler.build.unpacking import store_target
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import spelled
from depyf.decompiler.syntax.provisional import AssertionErrorName


def op_pop(frame: Frame, op: Op) -> None:
    """Execute POP."""
    value = frame.stack.pop()
    if isinstance(value, ImportValue) and value.refs == 0:
        finish_import(frame, value)
    elif isinstance(value, Slot) and value.name is None:
        store_target(frame, value, overwritten_target(frame))
    elif isinstance(value, (Marker, Null)):
        pass
    elif value.refs == 0 and value.targets and value.name is None:
        finish_targets(frame, value)
    elif value.refs == 0 and value.pending and value.name is None and frame.stack.pending[-1] is value:
        emit(frame, s.Expr(take(frame, value, final=True)[0]))
    else:
        discard(frame, value)


def overwritten_target(frame: Frame) -> Optional[s.Expression]:
    """Return the target of a popped element of `a, _, _ = x`: the compiler pops what the next store overwrites."""
    ops, position = frame.upcoming.ops, frame.upcoming.position
    while position < len(ops) and ops[position].kind == "POP":
        position += 1
    if position == len(ops) or ops[position].kind != "STORE_LOCAL" or not isinstance(frame.stack.values[-1], Slot):
        return None
    return s.Name(spelled(ops[position].arg))


def op_copy(frame: Frame, op: Op) -> None:
    """Execute COPY."""
    stack = frame.stack
    if op.arg > len(stack.values):
        raise Unstructured("COPY reaches below the stack")
    if isinstance(stack.values[-1], (Fresh, FreshDict)) and is_place_copied(frame, op):
        (node,) = take(frame, stack.pop())
        event(frame, node)  # made once, and used by the read and the write
    stack.push(stack.values[-op.arg])


def is_place_copied(frame: Frame, op: Op) -> bool:
    """Return whether this op begins to copy owner and key of `x[k] += v`."""
    ahead = frame.upcoming.ops[frame.upcoming.position : frame.upcoming.position + 2]
    key = frame.stack.values[-1]
    is_new = key.refs == 1 and key.name is None and not (isinstance(key, Fresh) and key.kind == "tuple")
    return op.arg == 2 and is_new and [(one.kind, one.arg) for one in ahead] == [("COPY", 2), ("SUBSCR", None)]


def op_push_null(frame: Frame, op: Op) -> None:
    """Execute PUSH_NULL."""
    frame.stack.push(Null(s.Constant(None)))


def op_const(frame: Frame, op: Op) -> None:
    """Execute CONST."""
    if type(op.arg) is not str:
        silent(frame, constant_node(op.arg, frame.scope.placeholders))
    elif frame.upcoming.kind == "SUBSCR":
        read_item(frame, op.arg)
    else:
        silent(frame, s.Constant(op.arg))


def read_item(frame: Frame, key: str) -> None:
    """Execute the SUBSCR that comes next, with a key that is no index of a list: it is folded with nothing."""
    upcoming = frame.upcoming
    frame.output.offset = upcoming.ops[upcoming.position].offset
    upcoming.position += 1
    event(frame, s.Subscript(take_one(frame, frame.stack.pop()), s.Constant(key)))


def op_load_local(frame: Frame, op: Op) -> None:
    """Execute LOAD_LOCAL."""
    node = s.Name(spelled(op.arg))
    if (op.offset, op.arg) in frame.scope.maybe_unbound:
        event(frame, node)
        return
    upcoming = frame.upcoming
    position = upcoming.position
    key = upcoming.ops[position] if position + 1 < len(upcoming.ops) else op
    if key.kind == "CONST" and type(key.arg) is str and upcoming.ops[position + 1].kind == "SUBSCR":
        frame.output.offset = upcoming.ops[position + 1].offset
        upcoming.position += 2
        event(frame, s.Subscript(node, s.Constant(key.arg)))
    else:
        silent(frame, node)


def op_load_cell(frame: Frame, op: Op) -> None:
    """Execute LOAD_CELL."""
    node = s.Name(spelled(op.arg))
    if frame.scope.is_private_cell(op.arg, op.offset) and (op.offset, op.arg) not in frame.scope.maybe_unbound:
        silent(frame, node)
    else:
        event(frame, node)


def op_load_closure(frame: Frame, op: Op) -> None:
    """Execute LOAD_CLOSURE."""
    frame.stack.push(Cell(spelled(op.arg)))


def op_load_global(frame: Frame, op: Op) -> None:
    """Execute LOAD_GLOBAL, LOAD_NAME."""
    name = frame.scope.global_name(op.arg)
    if frame.scope.settings.constant_globals(op.arg):
        silent(frame, s.Name(name))
    else:
        event(frame, s.Name(name))


def op_delete_variable(frame: Frame, op: Op) -> None:
    """Execute DELETE_LOCAL, DELETE_CELL, DELETE_GLOBAL, DELETE_NAME."""
    name = frame.scope.bound_name(op)
    before_rebinding(frame, name)
    if op.arg in frame.output.generated and not frame.stack.killed:
        flush(frame)
        frame.output.delete([name])
    else:
        emit(frame, s.Delete([s.Name(name)]))


def op_load_attr(frame: Frame, op: Op) -> None:
    """Execute LOAD_ATTR."""
    event(frame, s.Attribute(take_one(frame, frame.stack.pop()), op.arg))


def op_load_super_attr(frame: Frame, op: Op) -> None:
    """Execute LOAD_SUPER_ATTR: `super().x`."""
    name, zero_argument = op.arg
    values = frame.stack.pop_many(3)
    nodes = take(frame, *values)
    call = s.Call(nodes[0], [] if zero_argument else nodes[1:])
    event(frame, s.Attribute(call, name))


def op_delete_attr(frame: Frame, op: Op) -> None:
    """Execute DELETE_ATTR."""
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Delete([s.Attribute(node, op.arg)]))


def op_subscr(frame: Frame, op: Op) -> None:
    """Execute SUBSCR."""
    container, key = frame.stack.pop_many(2)
    if fold_subscript(frame, container, key):
        return
    if isinstance(key, Fresh) and key.kind == "tuple" and key.refs == 1 and key.name is None:
        key = freeze_tuple(frame, key)
    nodes = take(frame, container, key)
    event(frame, s.Subscript(nodes[0], nodes[1]))


def op_delete_subscr(frame: Frame, op: Op) -> None:
    """Execute DELETE_SUBSCR."""
    container, key = frame.stack.pop_many(2)
    if fold_delete(frame, container, key):
        return
    nodes = take(frame, container, key, final=True)
    emit(frame, s.Delete([s.Subscript(nodes[0], nodes[1])]))


def op_load_assertion_error(frame: Frame, op: Op) -> None:
    """Execute LOAD_ASSERTION_ERROR."""
    silent(frame, AssertionErrorName())


def op_load_class_cell(frame: Frame, op: Op) -> None:
    """Execute LOAD_CLASS_CELL."""
    event(frame, s.Name(spelled(op.arg)))


def op_load_locals(frame: Frame, op: Op) -> None:
    """Execute LOAD_LOCALS."""
    silent(frame, s.Call(s.Name("locals")))


def op_load_from_mapping(frame: Frame, op: Op) -> None:
    """Execute LOAD_FROM_MAPPING_OR_GLOBAL, LOAD_FROM_MAPPING_OR_CELL."""
    take(frame, frame.stack.pop())
    event(frame, s.Name(spelled(op.arg)))
