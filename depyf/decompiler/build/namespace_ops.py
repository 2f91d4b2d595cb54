"""Handlers for modules and class bodies, whose variables live in a mapping.

An annotated name is a store into `__annotations__`; a class body ends by storing the cell of `__class__`.
"""

from __future__ import annotations

from typing import Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.annotated_names import (
    ANNOTATE,
    MARKS,
    STORED_AS,
    Annotated,
    annotate_code,
    annotated_in,
    assigned_name,
)
from depyf.decompiler.build.assignments import op_store_subscr, store_together, store_variable
from depyf.decompiler.build.container_displays import op_build_map, op_set_add
from depyf.decompiler.build.definitions import annotation_node
from depyf.decompiler.build.effects import emit, flush, take
from depyf.decompiler.build.expression_forms import constant_of
from depyf.decompiler.build.function_bodies import written_statements
from depyf.decompiler.build.loads import op_copy, op_load_global
from depyf.decompiler.build.operators import op_return
from depyf.decompiler.build.symbolic_frame import Frame, open_nested
from depyf.decompiler.build.symbolic_values import Cell, FunctionValue, Marker, Value
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured

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
    elif op.arg in STORED_AS and isinstance(value, FunctionValue) and value.definition.code.co_name == ANNOTATE:
        annotated_names(frame)
        frame.scope.annotations.are_set_up = True
        value.is_defined = True
        take(frame, frame.stack.pop(), final=True)
    elif op.arg == MARKS and value is not None and isinstance(value.node, s.Set) and not value.refs > 1:
        frame.scope.annotations.are_marked = True
        take(frame, frame.stack.pop(), final=True)
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
    frame.scope.annotations.are_set_up = True


def op_store_annotation(frame: Frame, op: Op) -> None:
    """Execute STORE_SUBSCR: `x: annotation`, where it stores to `__annotations__`."""
    if not annotates(frame):
        op_store_subscr(frame, op)
        return
    value, owner, key = frame.stack.pop_many(3)
    name = constant_of(key)
    annotation = annotation_node(frame, take(frame, value, owner, final=True)[0])
    flush(frame)
    write_annotation(frame, name, annotation)


def write_annotation(frame: Frame, name: str, annotation: s.Expression) -> None:
    """Write `name: annotation`, or add it to the assignment of that name before it."""
    output = frame.output
    statement = s.AnnAssign(s.Name(name), annotation)
    previous = output.body[-1] if output.body else None
    if isinstance(previous, s.Assign) and assigned_name(previous) == name:
        statement.value = previous.value
        output.body.pop()
    emit(frame, statement)


def annotated_names(frame: Frame) -> Sequence[Annotated]:
    """Return the annotated names of a class body or a module, in order."""
    annotations = frame.scope.annotations
    if annotations.names is None:
        code = annotate_code(frame.scope.program)
        annotations.names = ()
        if code is not None:
            inner, tree = open_nested(frame, code)
            inner.handlers = frame.tables.annotations
            annotations.names = annotated_in(written_statements(inner, tree))
    return annotations.names


def op_start_annotations(frame: Frame, op: Op) -> None:
    """Execute BUILD_MAP, in a function for annotations."""
    if frame.stack.values or op.arg:
        op_build_map(frame, op)
    else:
        frame.stack.push(Marker("annotations"))


def op_copy_annotations(frame: Frame, op: Op) -> None:
    """Execute COPY."""
    if isinstance(frame.stack.values[-op.arg], Marker):
        frame.stack.push(Marker("annotations"))
    else:
        op_copy(frame, op)


def op_compute_annotation(frame: Frame, op: Op) -> None:
    """Execute STORE_SUBSCR: the annotation of one name."""
    value, owner, key = frame.stack.pop_many(3)
    if not isinstance(owner, Marker):
        raise Unstructured("a function for annotations does something else")
    (annotation,) = take(frame, value, final=True)
    emit(frame, s.AnnAssign(s.Name(constant_of(key)), annotation))


def op_return_annotations(frame: Frame, op: Op) -> None:
    """Execute RETURN."""
    frame.stack.pop()
    emit(frame, s.Return())
    frame.output.falls = False


def op_mark_annotation(frame: Frame, op: Op) -> None:
    """Execute SET_ADD: `x: annotation`, where its number is added to the set of those that count."""
    stack = frame.stack
    marks, added = stack.values[-2].node, stack.values[-1].node
    if op.arg != 1 or not isinstance(marks, s.Name) or marks.id != MARKS or not isinstance(added, s.Constant):
        op_set_add(frame, op)
        return
    stack.pop()
    number = added.value
    chosen = [one for one in annotated_names(frame) if one.number == number]
    if len(chosen) != 1 or frame.upcoming.kind != "POP":
        raise Unstructured("an annotation that no function computes")
    frame.upcoming.position += 1
    take(frame, stack.pop(), final=True)
    flush(frame)
    frame.scope.annotations.marked.add(number)
    write_annotation(frame, chosen[0].name, chosen[0].annotation)


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
