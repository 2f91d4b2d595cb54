"""Comprehensions: the frame that collects, of a code object of its own or inlined."""

from __future__ import annotations

from typing import Any, List

from depyf.decompiler import syntax as s
from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.build.comprehension_nodes import COMPREHENSIONS, comprehension_node, with_dropped_loops
from depyf.decompiler.build.container_displays import (
    op_build_set,
    op_dict_update,
    op_list_append,
    op_list_extend,
    op_map_add,
    op_set_add,
    op_set_update,
)
from depyf.decompiler.build.effects import emit, event, silent, take
from depyf.decompiler.build.expression_forms import iterable_of
from depyf.decompiler.build.function_bodies import mentions, rebinds, uncaptured_cells
from depyf.decompiler.build.provisional_nodes import resolve, spell_assertion_errors
from depyf.decompiler.build.rebinding import before_rebinding
from depyf.decompiler.build.region_walk import trampoline, walk
from depyf.decompiler.build.scope import Settings
from depyf.decompiler.build.symbolic_frame import Frame, Tables, open_comprehension
from depyf.decompiler.build.symbolic_values import FunctionValue, Marker, Slot, Value
from depyf.decompiler.build.unpacking import store_target
from depyf.decompiler.bytecode.code_flags import CO_COROUTINE
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.clean_graph import Comprehension
from depyf.decompiler.syntax.identifiers import spelled
from depyf.decompiler.syntax.provisional import AiterOf, CoroutineComprehension, Element, IterOf, LoopItem


def call_comprehension(frame: Frame, function: FunctionValue, arguments: List[Value]) -> bool:
    """Push the comprehension that a call of its function computes; False if the function is no comprehension."""
    code = function.definition.code
    if code.co_name not in COMPREHENSIONS or len(arguments) != 1 or function.refs:
        return False
    _, source = take(frame, function, arguments[0])
    if isinstance(source, (IterOf, AiterOf)):
        source = iterable_of(source, facts_of(frame.scope.code))
    settings = frame.scope.settings
    program, tree = settings.structure(code)
    node = comprehension_of(program, tree, settings, frame.tables, source)
    event(frame, CoroutineComprehension(node) if code.co_flags & CO_COROUTINE else node)
    return True


def op_comprehension(frame: Frame, op: Op) -> None:
    """Execute COMPREHENSION, one that was inlined: its loops run in a frame of their own, on the iterator given."""
    scope = frame.scope
    found: Comprehension = op.arg
    (source,) = take(frame, frame.stack.pop())
    for name in sorted(found.rebound):
        before_rebinding(frame, name)
    inner = open_comprehension(scope.program, scope.settings, frame.tables)
    inner.output.names, inner.scope.declared = frame.output.names, scope.declared
    inner.stack.push(Marker("collection"))
    inner.stack.push(Value(source))
    over = source
    if isinstance(source, (IterOf, AiterOf)):
        facts = facts_of(scope.code)
        over = source.value if facts.comprehensions_iterate_late else iterable_of(source, facts)
    uncaptured = [spelled(name) for name in found.uncaptured]
    body = collecting_loops(inner, found.tree)
    unset = [spelled(name) for name in found.unset if name.isidentifier()]
    if scope.is_namespace:  # there the compiler puts every name aside that the comprehension mentions
        inside = [part for loop in body for part in s.children(loop) if part is not getattr(loop, "iter", None)]
        mentioned = {node.id for part in inside for node in s.walk(part) if isinstance(node, s.Name)}
        unmentioned = [name for name in unset if name not in mentioned]
    else:
        body, unmentioned = with_dropped_loops(body, unset), []
    event(frame, comprehension_node(found.kind, body, over, unmentioned, uncaptured))


def adds_to_collection(frame: Frame, op: Op, popped: int) -> bool:
    """Return whether an op adds to the collection itself, which is at the bottom of the stack."""
    return bool(op.arg == len(frame.stack.values) - popped)


def op_collect_in_list(frame: Frame, op: Op) -> None:
    """Execute LIST_APPEND."""
    if not adds_to_collection(frame, op, 1):
        op_list_append(frame, op)
        return
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Expr(Element(None, node)))


def op_collect_in_set(frame: Frame, op: Op) -> None:
    """Execute SET_ADD."""
    if not adds_to_collection(frame, op, 1):
        op_set_add(frame, op)
        return
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Expr(Element(None, node)))


def op_start_set(frame: Frame, op: Op) -> None:
    """Execute BUILD_SET."""
    if op.arg or frame.stack.values:
        op_build_set(frame, op)
    else:  # the collection itself
        silent(frame, s.Set([]))


def op_collect_in_dict(frame: Frame, op: Op) -> None:
    """Execute MAP_ADD."""
    if not adds_to_collection(frame, op, 2):
        op_map_add(frame, op)
        return
    key, value = take(frame, *frame.stack.pop_many(2), final=True)
    emit(frame, s.Expr(Element(key, value)))


def op_collect_value_first(frame: Frame, op: Op) -> None:
    """Execute MAP_ADD_VALUE_FIRST."""
    if not adds_to_collection(frame, op, 2):
        raise Unstructured("a dict other than that of a comprehension gets a value before its key")
    value, key = take(frame, *frame.stack.pop_many(2), final=True)
    emit(frame, s.Expr(Element(key, value)))


def op_collect_unpacked(frame: Frame, op: Op) -> None:
    """Execute LIST_EXTEND, SET_UPDATE, DICT_UPDATE: `[*x for x in y]`."""
    if not adds_to_collection(frame, op, 1):
        _UNPACKS[op.kind](frame, op)
        return
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Expr(Element(None, s.Starred(node))))


_UNPACKS = {"LIST_EXTEND": op_list_extend, "SET_UPDATE": op_set_update, "DICT_UPDATE": op_dict_update}


def op_collect_yielded(frame: Frame, op: Op) -> None:
    """Execute YIELD."""
    value = frame.stack.pop()
    if isinstance(value, Slot) and value.name is None and value.pattern.source == "for":
        store_target(frame, value, LoopItem())
        emit(frame, s.Expr(Element(None, LoopItem())))
    else:
        (node,) = take(frame, value, final=True)
        emit(frame, s.Expr(Element(None, node)))
    silent(frame, s.Constant(None))


def unmentioned_variables(frame: Frame) -> List[str]:
    """Return the free variables that only code mentions which the compiler dropped."""
    return [
        spelled(name)
        for name in frame.scope.code.co_freevars
        if not rebinds(frame.scope, name) and not mentions(frame.scope, name)
    ]


def comprehension_of(
    program: Program, tree: Any, settings: Settings, tables: Tables, source: s.Expression
) -> s.Expression:
    """Return the comprehension that a code object of its own computes."""
    frame = open_comprehension(program, settings, tables)
    body = collecting_loops(frame, tree)
    uncaptured = [spelled(name) for name in uncaptured_cells(frame.scope)]
    return comprehension_node(program.code.co_name, body, source, unmentioned_variables(frame), uncaptured)


def collecting_loops(frame: Frame, tree: Any) -> List[s.Statement]:
    """Return the statements that compute a comprehension."""
    trampoline(walk(frame, tree))
    body = resolve(frame.output.body, frame.scope.placeholders)
    if "LOAD_ASSERTION_ERROR" in op_kinds(frame.scope.program):
        spell_assertion_errors(body, frame.scope.placeholders)
    return body
