"""Tests, and operands that are computed only on some paths: `and`, `or`, `x if y else z`, chained comparisons."""

from __future__ import annotations

from typing import Callable, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import event, take
from depyf.decompiler.build.expression_forms import bool_op, flips, is_written_second, negate, opposite
from depyf.decompiler.build.symbolic_frame import Frame, run_ops
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Both, Choice, Simple, Test
from depyf.decompiler.syntax.provisional import Flipped


def op_chain(frame: Frame, op: Op) -> None:
    """Execute CHAIN: `a < b < c`."""
    operator, rest = op.arg
    left, right = take(frame, *frame.stack.pop_many(2))
    operators, operands = [operator], [right]
    for ops, next_operator in reversed(rest):
        operands.append(operand(frame, ops))
        operators.append(next_operator)
    event(frame, s.Compare(left, operators, operands))


def op_bool(frame: Frame, op: Op) -> None:
    """Execute BOOL: `a and b`, `a or b` for their value."""
    operator, test, rest, inner = op.arg
    first = test_node(frame, test, is_kept=True)
    operands = [operand(frame, ops) for ops in reversed(rest)]
    tested = [s.SeparateTest(node) if isinstance(node, s.BoolOp) else node for node in operands[:-1]]
    values = [first, *tested]
    is_first_inner = isinstance(test, Simple) and test.is_inner
    if is_first_inner or any(inner):
        values = _grouped(operator, values, [is_first_inner, *reversed(inner)])
    event(frame, bool_op(operator, [*values, operands[-1]]))


def _grouped(operator: str, values: List[s.Expression], inner: List[bool]) -> List[s.Expression]:
    """Return operands with those in parentheses again whose tests are inner ones: `(a or b) or c`."""
    found: List[s.Expression] = []
    group: List[s.Expression] = []
    for value, is_inner in zip(values, inner):
        group.append(value)
        if not is_inner:
            found.append(s.SeparateTest(s.BoolOp(operator, group)) if len(group) > 1 else value)
            group = []
    return [*found, *group]


def op_select(frame: Frame, op: Op) -> None:
    """Execute SELECT: `a if b else c`."""
    test, then, orelse = op.arg
    node = test_node(frame, test)
    if is_written_second(then, orelse) and not flips(node):
        node, then, orelse = negate(node), orelse, then
    event(frame, s.IfExp(node, operand(frame, then), operand(frame, orelse)))


def test_node(frame: Frame, test: Test, is_kept: bool = False, is_followed: bool = True) -> s.Expression:
    """Return the expression for a test whose first operand is on the stack.

    `is_kept`: the value that is tested may stay on the stack. `is_followed`: the test comes right after the value. It
    does not after the first arm of a conditional expression: there no compiler tests the operands in its place.
    """
    if isinstance(test, Simple):
        (node,) = take(frame, frame.stack.pop())
        if test.kind == "none":
            return s.Compare(node, ["is not" if test.negate else "is"], [s.Constant(None)])
        if test.negate and isinstance(node, s.Compare) and flips(node):
            return Flipped(opposite(node))
        if isinstance(node, s.BoolOp) and is_followed:
            node = s.SeparateTest(node)
        return negate(node) if test.negate else node
    node = test_node(frame, test.first)
    if isinstance(test, Both):
        values = [node, *(nested_test(frame, ops, inner) for ops, inner in reversed(test.rest))]
        node = bool_op(test.op, values)
    else:
        assert isinstance(test, Choice)
        then, orelse = test.then, test.orelse
        if is_written_second(then[0], orelse[0]) and not flips(node):
            node, then, orelse = negate(node), orelse, then
        first = nested_test(frame, *then, is_kept, not is_kept)
        node = s.IfExp(node, first, nested_test(frame, *orelse, is_kept))
    return negate(node) if test.negate else node


def operand(frame: Frame, ops: Sequence[Op]) -> s.Expression:
    """Return an expression that is computed only on some paths; it may need no statement."""
    return isolated(frame, ops, lambda: take(frame, frame.stack.pop())[0])


def nested_test(
    frame: Frame, ops: Sequence[Op], test: Test, is_kept: bool = False, is_followed: bool = True
) -> s.Expression:
    """Return a test that is computed only on some paths; it may need no statement."""
    return isolated(frame, ops, lambda: test_node(frame, test, is_kept, is_followed))


def isolated(frame: Frame, ops: Sequence[Op], finish: Callable[[], s.Expression]) -> s.Expression:
    """Execute ops that must result in one expression, which `finish` returns."""
    stack, output = frame.stack, frame.output
    pending, stack.pending = stack.pending, []
    killed = stack.take_killed()
    out, output.body = output.body, []
    depth = len(stack.values)
    stack.around.append((depth, pending))
    run_ops(frame, ops)
    node = finish()
    stack.around.pop()
    if output.body or stack.pending or stack.killed or len(stack.values) != depth:
        raise Unstructured("an operand needs statements")
    stack.pending, stack.killed, output.body = pending, killed, out
    return node
