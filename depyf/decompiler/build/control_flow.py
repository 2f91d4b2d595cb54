"""Statements of nodes of the region tree: `if`, loops, `try`, `with`."""

from __future__ import annotations

import itertools
from typing import Any, List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.boolean_tests import operand, test_node
from depyf.decompiler.build.effects import emit, flush, take
from depyf.decompiler.build.expression_forms import iterable_of
from depyf.decompiler.build.region_walk import build_part, check_unchanged, join
from depyf.decompiler.build.symbolic_frame import Frame, Steps, run_ops
from depyf.decompiler.build.symbolic_values import Marker, Pattern, Slot, Value, fork
from depyf.decompiler.build.tidying import bodies
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import IfNode, Leave, LoopNode, TryNode, WithNode
from depyf.decompiler.syntax.provisional import AiterOf, IterOf


def leave_loop(frame: Frame, item: Leave) -> Steps:
    """Write `break` or `continue`."""
    emit(frame, s.Break() if item.kind == "break" else s.Continue())
    frame.output.falls = False
    return
    yield


def if_statement(frame: Frame, item: IfNode) -> Steps:
    """Write `if`."""
    stack, output = frame.stack, frame.output
    test = test_node(frame, item.test)
    killed = stack.take_killed()
    flush(frame)
    node = s.If(test, [], [], origin=item.offset)
    output.body.append(node)
    base = stack.values
    ways = []
    for sequence, body in ((item.then, node.body), (item.orelse, node.orelse)):
        if killed:
            saved, output.body = output.body, body
            output.delete(killed)
            output.body = saved
        yield build_part(frame, sequence, fork(base), body)
        ways.append((output.falls, stack.values, body))
    join(frame, ways, base)


def loop_statement(frame: Frame, item: LoopNode) -> Steps:
    """Write `while`, `for` or `async for`."""
    return while_loop(frame, item) if item.kind == "while" else for_loop(frame, item)


def for_loop(frame: Frame, item: LoopNode) -> Steps:
    """Write `for` or `async for`: the body stores the item first."""
    value = frame.stack.pop()
    (node,) = take(frame, value, final=True)
    is_async = item.kind == "async for"
    if isinstance(node, AiterOf if is_async else IterOf):
        node = iterable_of(node, facts_of(frame.scope.code))
    flush(frame)
    pattern = Pattern(1, -1, "for")
    make = s.AsyncFor if is_async else s.For
    statement = make(s.Constant(None), node, [], [], origin=item.offset)
    frame.output.body.append(statement)
    after = frame.stack.values
    base = [*after, Marker("iterator")]
    base[-1].refs = 1
    inside = fork(base)
    slot = Slot(pattern, 0)
    slot.refs = 1
    yield build_part(frame, item.body, [*inside, slot], statement.body)
    check_unchanged(frame, base)
    if not pattern.is_done:
        raise Unstructured("the variable of a for loop is not set first")
    statement.target = pattern.targets[0]
    yield from loop_else(frame, item, after, statement)


def while_loop(frame: Frame, item: LoopNode) -> Steps:
    """Write `while`."""
    stack, output = frame.stack, frame.output
    flush(frame)
    base = stack.values
    statement = s.While(s.Constant(True), [], [], origin=item.offset)
    output.body.append(statement)
    stack.values = fork(base)
    if item.test is not None:
        saved, output.body = output.body, statement.body
        run_ops(frame, item.head)
        test = test_node(frame, item.test)
        flush(frame)
        output.body = saved
        if statement.body or stack.killed:
            raise Unstructured("the test of a while loop needs statements")
        statement.test = test
    yield build_part(frame, item.body, stack.values, statement.body)
    check_unchanged(frame, base)
    yield from loop_else(frame, item, base[: len(base) - item.taken], statement)
    if item.test is None and not has_break(statement.body):
        output.falls = False


def loop_else(frame: Frame, item: LoopNode, after: List[Value], statement: Any) -> Steps:
    """Write the else clause, and restore the stack after the loop."""
    frame.output.falls = True
    if item.orelse.items:
        yield build_part(frame, item.orelse, fork(after), statement.orelse)
    frame.stack.values = after
    frame.output.falls = True


def try_statement(frame: Frame, item: TryNode) -> Steps:
    """Write `try` with its `except` clauses and else, or with its `finally`."""
    stack, output = frame.stack, frame.output
    flush(frame)
    base = stack.values
    make = s.TryStar if item.region.is_star else s.Try
    statement = make([], [], [], [], origin=item.offset)
    output.body.append(statement)
    yield build_part(frame, item.body, fork(base), statement.body)
    if item.orelse.items:
        yield build_part(frame, item.orelse, stack.values, statement.orelse)
    ways = [(output.falls, stack.values, statement.orelse or statement.body)]
    handler = frame.scope.program.handlers[item.region.number]
    caught = [Marker("lasti")] * handler.lasti + [Marker("exception state"), Marker("exception")]
    for clause in item.clauses:
        below = fork(base[: handler.depth])
        kind = None
        if clause.type_ops is not None:
            stack.values = [*below, *caught]
            kind = operand(frame, clause.type_ops)
        name = None if clause.name is None else frame.scope.bound_name(clause.name)
        body: List[s.Statement] = []
        statement.handlers.append(s.ExceptHandler(kind, name, body, origin=clause.offset))
        yield build_part(frame, clause.body, [*below, *fork(caught[:-1])], body)
        ways.append((output.falls, stack.values, body))
    if item.final.items:
        yield build_part(frame, item.final, [*fork(base[: handler.depth]), *fork(caught)], statement.finalbody)
        if not statement.finalbody:
            statement.finalbody.append(s.Pass())
    join(frame, ways, base)


def op_before_with(frame: Frame, op: Op) -> None:
    """Execute BEFORE_WITH, BEFORE_ASYNC_WITH: push the exit method and the value entered."""
    exit_method = Marker("exit method")
    (exit_method.node,) = take(frame, frame.stack.pop(), final=True)
    flush(frame)
    frame.stack.push(exit_method)
    frame.stack.push(Slot(Pattern(1, -1, "entered" if op.kind == "BEFORE_WITH" else "entered async"), 0))


def with_statement(frame: Frame, item: WithNode) -> Steps:
    """Write `with` or `async with`: the body stores or pops the value entered first."""
    stack = frame.stack
    slot = stack.values[-1]
    if not isinstance(slot, Slot) or slot.pattern.source != ("entered async" if item.is_async else "entered"):
        raise Unstructured("a with block without a manager")
    context = stack.values[-2].node
    flush(frame)
    make = s.AsyncWith if item.is_async else s.With
    entry = s.withitem(context)
    statement = make([entry], [], origin=item.offset)
    frame.output.body.append(statement)
    base = stack.values[:-2]
    inside = fork(stack.values)
    pattern = Pattern(1, -1, "with")
    inside[-1] = Slot(pattern, 0)
    inside[-1].refs = 1
    yield build_part(frame, item.body, inside, statement.body)
    if not pattern.is_done:
        raise Unstructured("the value of a with statement is not taken first")
    entry.optional_vars = pattern.targets[0] if pattern.targets else None
    stack.values = base
    frame.output.falls = True


def has_break(body: List[s.Statement]) -> bool:
    """Return whether a loop body can break out of its loop."""
    work = list(body)
    while work:
        statement = work.pop()
        if isinstance(statement, s.Break):
            return True
        if isinstance(statement, (s.For, s.While, s.AsyncFor)):
            work.extend(statement.orelse)
        else:
            work.extend(itertools.chain.from_iterable(bodies(statement)))
    return False
