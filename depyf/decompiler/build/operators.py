"""Handlers of operators, iteration, generators, and the ends of blocks."""

from __future__ import annotations

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import discard, emit, event, flush, take
from depyf.decompiler.build.expression_forms import (
    is_entered,
    is_none,
    set_to_iterate,
    unfolded_constant,
    would_be_fstring,
)
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Marker, Null
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import AiterOf, CoroutineComprehension, Inplace, IterOf


def op_unary(frame: Frame, op: Op) -> None:
    """Execute UNARY."""
    (node,) = take(frame, frame.stack.pop())
    event(frame, s.UnaryOp(op.arg, unfolded_constant(node)))


def op_binary(frame: Frame, op: Op) -> None:
    """Execute BINARY."""
    left, right = take(frame, *frame.stack.pop_many(2))
    if op.arg == "%" and would_be_fstring(left, right):
        left = s.JoinedStr([left])
    event(frame, s.BinOp(left, op.arg, right))


def op_inplace(frame: Frame, op: Op) -> None:
    """Execute INPLACE."""
    left, right = take(frame, *frame.stack.pop_many(2))
    event(frame, Inplace(left, op.arg, right))


def op_compare(frame: Frame, op: Op) -> None:
    """Execute COMPARE."""
    _compare(frame, op.arg)


def op_is(frame: Frame, op: Op) -> None:
    """Execute IS."""
    _compare(frame, "is not" if op.arg else "is")


def op_contains(frame: Frame, op: Op) -> None:
    """Execute CONTAINS."""
    _compare(frame, "not in" if op.arg else "in")


def _compare(frame: Frame, operator: str) -> None:
    values = frame.stack.pop_many(2)
    last = values[1].node
    right: s.Expression
    if operator in ("in", "not in") and isinstance(last, s.Constant) and type(last.value) is frozenset:
        (left,), right = take(frame, values[0]), last  # the compiler turns `in {1, 2}` into this
    else:
        left, right = take(frame, *values)
    event(frame, s.Compare(left, [operator], [right]))


def op_to_bool(frame: Frame, op: Op) -> None:
    """Execute TO_BOOL: `not not x`."""
    value = frame.stack.pop()
    if isinstance(value.node, s.UnaryOp) and value.node.op == "not":
        frame.stack.push(value)
        return
    (node,) = take(frame, value)
    event(frame, s.UnaryOp("not", s.UnaryOp("not", node)))


def op_get_iter(frame: Frame, op: Op) -> None:
    """Execute GET_ITER."""
    value = frame.stack.pop()
    display = set_to_iterate(value, frame.scope.settings.text_runs_alone, frame.scope.program.budget.charge)
    if display is not None:
        event(frame, IterOf(display, is_constant=True))
        return
    (node,) = take(frame, value)
    event(frame, IterOf(node))


def op_get_aiter(frame: Frame, op: Op) -> None:
    """Execute GET_AITER."""
    (node,) = take(frame, frame.stack.pop())
    event(frame, AiterOf(node))


def op_get_yield_from_iter(frame: Frame, op: Op) -> None:
    """Execute GET_YIELD_FROM_ITER: `yield from x`."""
    (node,) = take(frame, frame.stack.pop())
    event(frame, s.YieldFrom(node))


def op_get_awaitable(frame: Frame, op: Op) -> None:
    """Execute GET_AWAITABLE: `await x`."""
    if is_entered(frame.stack.values[-1]):
        return
    (node,) = take(frame, frame.stack.pop())
    event(frame, node.comprehension if isinstance(node, CoroutineComprehension) else s.Await(node))


def op_yield_from(frame: Frame, op: Op) -> None:
    """Execute YIELD_FROM: the loop that sends to what is awaited, which is on the stack already."""
    frame.stack.pop()
    waiting = frame.stack.values[-1]
    if is_entered(waiting):
        return
    if not isinstance(waiting.node, (s.Await, s.YieldFrom, s.ListComp, s.SetComp, s.DictComp)):
        raise Unstructured("a send loop over something that is not awaited")


def op_yield(frame: Frame, op: Op) -> None:
    """Execute YIELD."""
    (node,) = take(frame, frame.stack.pop())
    event(frame, s.Yield(None if is_none(node) else node))


def op_return(frame: Frame, op: Op) -> None:
    """Execute RETURN."""
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Return(None if is_none(node) else node))


def op_raise(frame: Frame, op: Op) -> None:
    """Execute RAISE."""
    nodes = take(frame, *frame.stack.pop_many(op.arg), final=True)
    emit(frame, s.Raise(*nodes))


def op_reraise(frame: Frame, op: Op) -> None:
    """Execute RERAISE: the end of a handler."""
    if not isinstance(frame.stack.pop(), Marker):
        raise Unstructured("RERAISE of something that was not caught")


def op_nowhere(frame: Frame, op: Op) -> None:
    """Execute NOWHERE: a place that is never reached; the stack is dropped."""
    while frame.stack.values:
        value = frame.stack.pop()
        if not isinstance(value, (Marker, Null)):
            discard(frame, value)
    flush(frame)


def op_pop_except(frame: Frame, op: Op) -> None:
    """Execute POP_EXCEPT: the end of a handler."""
    if not isinstance(frame.stack.pop(), Marker):
        raise Unstructured("POP_EXCEPT without an exception")


def op_unsupported(frame: Frame, op: Op) -> None:
    """Refuse an op that no expression spells."""
    raise Unstructured(f"{op.kind} is not supported yet")


def op_print_expr(frame: Frame, op: Op) -> None:
    """Execute PRINT_EXPR: an expression of interactive code."""
    (node,) = take(frame, frame.stack.pop(), final=True)
    emit(frame, s.Expr(node))
