"""Joined values: conditional expressions, and `and` and `or` whose value is kept."""

from __future__ import annotations

from typing import List, Optional, Tuple

from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import Block, Branch, End, Jump, Keep, Simple
from depyf.decompiler.fold.adjacent_blocks import both, ends_with, operand, same_exit, swallows
from depyf.decompiler.fold.comparison_chains import continues_chain, join_value_chain
from depyf.decompiler.fold.expression_ops import effect, reaches_below


def join_select(block: Block) -> bool:
    """Fold `if a: push x else: push y` into `x if a else y`."""
    term = block.term
    if not isinstance(term, Branch) or continues_chain(block):
        return False
    then, orelse = _value_arm(block, term.true), _value_arm(block, term.false)
    if not then or not orelse or then[2] is not orelse[2]:
        return _join_select_copied(block, term)
    if then[2] is None and not _one_line(block, term.true, term.false):
        return False
    _select(block, term, then[0], orelse[0])
    block.ops.extend(then[1])
    block.set_term(End() if then[2] is None else Jump(then[2]))
    return True


def _value_arm(block: Block, arm: Block) -> Optional[Tuple[List[Op], List[Op], Optional[Block]]]:
    """Return (ops, ops after the join, join) of an arm that computes one value and jumps to the join or returns it."""
    if not swallows(block, arm):
        return None
    if isinstance(arm.term, Jump) and effect(arm.ops) == 1:
        return arm.ops, [], arm.term.target
    if isinstance(arm.term, End) and arm.ops[-1:] and arm.ops[-1].kind == "RETURN" and effect(arm.ops[:-1]) == 1:
        return arm.ops[:-1], arm.ops[-1:], None
    return None


def _join_select_copied(block: Block, term: Branch) -> bool:
    """Return the arms of a conditional expression, one or both of which end with a copy of what comes next."""
    after = _copied_to_both(block, term.true, term.false)
    if after:
        onward = Jump(term.true.term.target) if isinstance(term.true.term, Jump) else End()
        then_ops, else_ops = (arm.ops[: len(arm.ops) - len(after)] for arm in (term.true, term.false))
        _select(block, term, then_ops, else_ops)
        block.ops.extend(after)
        block.set_term(onward)
        return True
    for arm in (term.true, term.false):
        if not isinstance(arm.term, Jump):
            continue
        join = arm.term.target
        then, orelse = _arm_to(block, term.true, join), _arm_to(block, term.false, join)
        if then is not None and orelse is not None:
            _select(block, term, then, orelse)
            block.set_term(Jump(join))
            return True
    return False


def _copied_to_both(block: Block, one: Block, other: Block) -> List[Op]:
    """Return what comes after a conditional expression, where it was copied to the ends of both arms.

    It uses the stack below, as the addition in `a + (b if c else d)` does: no statement could.
    """
    if not swallows(block, one) or not swallows(block, other) or not same_exit(one, other):
        return []
    if not reaches_below(one.ops) or not reaches_below(other.ops):
        return []
    count = 0
    while count < min(len(one.ops), len(other.ops)) and same_op(one.ops[-1 - count], other.ops[-1 - count]):
        count += 1
    for size in range(count, 0, -1):
        if effect(one.ops[:-size]) == 1 and effect(other.ops[:-size]) == 1:
            return one.ops[-size:]
    return []


def _select(block: Block, term: Branch, then: List[Op], orelse: List[Op]) -> None:
    block.ops.append(Op("SELECT", (term.test, then, orelse), block.ops[-1].offset if block.ops else -1))
    for gone in (term.true, term.false):
        gone.set_term(End())
        gone.number = -1


def _arm_to(block: Block, arm: Block, join: Block) -> Optional[List[Op]]:
    """Return the ops of an arm that computes one value and jumps to the join, or ends with a copy of it."""
    if not swallows(block, arm):
        return None
    ops = arm.ops
    if not isinstance(arm.term, Jump) or arm.term.target is not join:
        if not join.ops or not same_exit(arm, join) or not ends_with(arm, join.ops) or arm.regions != join.regions:
            return None
        ops = ops[: len(ops) - len(join.ops)]
    return ops if effect(ops) == 1 else None


def _one_line(*blocks: Block) -> bool:
    return blocks[0].line >= 0 and all(block.line == blocks[1].line for block in blocks[1:])


def join_value(block: Block) -> bool:
    """Fold a, kept if false, else dropped for b, into `a and b`; likewise for `or` and chained comparisons."""
    term = block.term
    if not isinstance(term, Keep) or is_joined(block):
        return False
    return join_operand(block)


def is_joined(block: Block) -> bool:
    """Return whether the value that a block tests was computed in several others."""
    return not block.ops and len(block.preds) > 1


def join_operand(block: Block) -> bool:
    """Fold as `join_value` does, wherever the value comes from."""
    term = block.term
    if not isinstance(term, Keep):
        return False
    ops = _arm_to(block, term.drop, term.keep)
    if ops is None:
        return join_value_chain(block, term) or _join_keeps(block, term)
    op = "or" if term.when else "and"
    drop, keep = term.drop, term.keep
    offset = block.ops[-1].offset if block.ops else block.offset
    block.ops.append(Op("BOOL", (op, term.test, *_operands(op, ops)), offset))
    drop.set_term(End())
    drop.number = -1
    block.set_term(Jump(keep))
    return True


def _join_keeps(block: Block, term: Keep) -> bool:
    """Fold `(a and b) and c` where c is also reached otherwise: a and b are kept at the same place."""
    inner = term.drop.term
    if not isinstance(inner, Keep) or not operand(block, term.drop) or len(inner.drop.preds) < 2:
        return False
    if inner.keep is not term.keep or inner.when != term.when:
        return False
    other, keep, drop = term.drop, inner.keep, inner.drop
    test = both("or" if term.when else "and", term.test, other.ops, inner.test)
    other.set_term(End())
    other.number = -1
    block.set_term(Keep(test, inner.when, keep, drop))
    return True


def spread_test(block: Block) -> List[Block]:
    """Fold `(a if b else c and d) or e`, where the test of c leads past the test of the conditional expression.

    The value tested is that of a or that of d: test each where it is computed. Return the blocks to visit again.
    """
    term, preds = block.term, list(block.preds)
    if block.number < 0 or block.ops or not isinstance(term, (Keep, Branch)) or not isinstance(term.test, Simple):
        return []
    if len(preds) < 2 or not all(isinstance(pred.term, Jump) and pred.regions == block.regions for pred in preds):
        return []
    if not all(pred.ops and effect(pred.ops) == 1 for pred in preds):
        return []
    for pred in preds:
        test = Simple(term.test.kind, term.test.negate, term.test.is_inner)
        if isinstance(term, Keep):
            pred.set_term(Keep(test, term.when, term.keep, term.drop))
        else:
            pred.set_term(Branch(test, term.true, term.false))
    block.set_term(End())
    block.number = -1
    return [*(before for pred in preds for before in pred.preds), *preds]


def _operands(operator: str, ops: List[Op]) -> Tuple[List[List[Op]], List[bool]]:
    """Return the operands after the first, and whether the tests of all but the last are inner ones; both reversed.

    A chain of the same operator is one, however long it is.
    """
    last = ops[-1]
    if last.kind == "BOOL" and last.arg[0] == operator and isinstance(last.arg[1], Simple) and not last.arg[1].negate:
        rest: List[List[Op]] = last.arg[2]
        inner: List[bool] = last.arg[3]
        rest.append(ops[:-1])
        inner.append(last.arg[1].is_inner)
        return rest, inner
    return [ops], []
