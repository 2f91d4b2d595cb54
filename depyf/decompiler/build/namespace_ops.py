"""Handlers for modules and class bodies, whose variables live in a mapping.

An annotated name is a store into `__annotations__`; a class body ends by storing the cell of `__class__`.
"""

from __future__ import annotations

from depyf.decompiler import syntax as s
from depyf.decompiler.build.assignments import op_store_subscr, store_together, store_variable
from depyf.decompiler.build.definitions import annotation_node
from depyf.decompiler.build.effects import emit, flush, take
from depyf.decompiler.build.expression_forms import constant_of
from depyf.decompiler.build.loads import op_load_global
from depyf.decompiler.build.operators import op_return
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Cell, Value
from depyf.decompiler.bytecode.microops import STORES, Op

# Names under which the compiler stores cells that the class statement itself reads -> the variable of the cell.
_CELLS = {"__classcell__": "__class__", "__classdictcell__": "__classdict__"}


def op_load_declared_global(frame: Frame, op: Op) -> None:
    """Execute LOAD_GLOBAL: the name is declared global in the body."""
    frame.scope.declare_global(frame.scope.global_name(op.arg))
    op_load_global(frame, op)


def op_store_name(frame: Frame, op: Op) -> None:
    """Execute STORE_NAME and the other stores."""
    if frame.upcoming.kind in STORES and store_together(frame):
        return
    value = frame.stack.top()
    if isinstance(value, Cell) and _CELLS.get(op.arg) == value.variable:
        frame.stack.pop()
    else:
        store_variable(frame, op)


def op_end_body(frame: Frame, op: Op) -> None:
    """Execute RETURN."""
    value = frame.stack.top()
    if isinstance(value, Cell) and value.variable == "__class__":
        frame.stack.pop()
        emit(frame, s.Return())
    else:
        op_return(frame, op)


def op_setup_annotations(frame: Frame, op: Op) -> None:
    """Execute SETUP_ANNOTATIONS: the first annotation makes it."""
    frame.scope.sets_up_annotations = True


def op_store_annotation(frame: Frame, op: Op) -> None:
    """Execute STORE_SUBSCR: `x: annotation`, where it stores to `__annotations__`."""
    output = frame.output
    if not annotates(frame):
        op_store_subscr(frame, op)
        return
    value, owner, key = frame.stack.pop_many(3)
    name = constant_of(key)
    annotation = annotation_node(frame, take(frame, value, owner, final=True)[0])
    flush(frame)
    statement = s.AnnAssign(s.Name(name), annotation)
    previous = output.body[-1] if output.body else None
    if isinstance(previous, s.Assign) and len(previous.targets) == 1:
        target = previous.targets[0]
        if isinstance(target, s.Name) and target.id == name:
            statement.value = previous.value
            output.body.pop()
    emit(frame, statement)


def annotates(frame: Frame) -> bool:
    """Return whether `__annotations__[name] = ...` is about to be executed."""
    stack = frame.stack
    if len(stack.values) < 3:
        return False
    owner, key = stack.values[-2], stack.values[-1]
    if not _is_named(owner, "__annotations__") or not isinstance(key.node, s.Constant) or key.pending:
        return False
    return isinstance(key.node.value, str) and key.node.value.isidentifier()


def _is_named(value: Value, name: str) -> bool:
    return isinstance(value.node, s.Name) and value.node.id == name and value.pending and value.refs == 1
