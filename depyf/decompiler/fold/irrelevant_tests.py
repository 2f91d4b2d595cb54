"""Irrelevant tests: a constant in the condition made the compiler drop what their outcome would decide.

Of `if a or b and 0 or c` the test of b is left, and c is tested next either way. The text spells the constant again.
"""

from __future__ import annotations

from typing import List, Optional

from depyf.decompiler.bytecode.microops import STORES, Op, depth_needed, stack_effect
from depyf.decompiler.flow.graph import Block, Both, Branch, End, Keep, Simple, Test, negated
from depyf.decompiler.flow.source_lines import SourceLines
from depyf.decompiler.fold.adjacent_blocks import equivalent, take_over
from depyf.decompiler.fold.expression_ops import STATEMENTS, effect


def is_settled(term: Branch) -> bool:
    """Return whether a branch continues at the same place either way."""
    return equivalent(term.true, term.false)


def always(test: Test, outcome: bool) -> Both:
    """Return a test that is evaluated but has only one outcome."""
    return Both("or" if outcome else "and", test, [([Op("CONST", outcome, -1)], Simple("true"))])


def towards(inner: Branch, true: Block, false: Block) -> Optional[Test]:
    """Return the test of a branch as one that leads to these two places; None if it leads elsewhere."""
    if equivalent(inner.true, true) and equivalent(inner.false, false):
        return inner.test
    if equivalent(inner.true, false) and equivalent(inner.false, true):
        return negated(inner.test)
    if not is_settled(inner) or not (equivalent(inner.true, true) or equivalent(inner.true, false)):
        return None
    return always(inner.test, equivalent(inner.true, true))


def join_dropped(block: Block, lines: SourceLines) -> bool:
    """Fold `if b: pass` before X into X: `(b and False) or X` for a test, `X if b or True else None` for a value.

    `lines`: offset of an op -> its line in the source.
    """
    term = block.term
    if not isinstance(term, Branch) or term.true is not term.false:
        return False
    after = term.true
    if after is block or any(pred is not block for pred in after.preds) or after.regions != block.regions:
        return False
    line = lines.get(block.ops[-1].offset, -1) if block.ops else block.line
    if after.line != line or line < 0:
        return False
    if isinstance(after.term, (Branch, Keep)) and effect(after.ops) == 1:
        test = Both("or", always(term.test, False), [(after.ops, after.term.test)])
        onward = after.term
        after.set_term(End())
        after.number = -1
        if isinstance(onward, Keep):
            block.set_term(Keep(test, onward.when, onward.keep, onward.drop))
        else:
            block.set_term(Branch(test, onward.true, onward.false))
        return True
    size = _first_value(after.ops)
    if not size:
        return False
    nothing = [Op("CONST", None, -1)]
    select = Op("SELECT", (always(term.test, True), after.ops[:size], nothing), after.ops[0].offset)
    block.ops.extend([select, *after.ops[size:]])
    take_over(block, after)
    return True


def _first_value(ops: List[Op]) -> int:
    """Return how many ops compute the first value, if the expression continues with a value from before; else 0.

    If it does not, what comes before may as well be a statement.
    """
    depth = size = 0
    for position, op in enumerate(ops, 1):
        if op.kind in STATEMENTS:
            return 0
        if depth < depth_needed(op):
            collects = (
                op.kind in ("LIST_APPEND", "SET_ADD", "MAP_ADD", "MAP_ADD_VALUE_FIRST") and op.arg > 1
            )  # in a comprehension
            return size if op.kind != "SWAP" and op.kind not in STORES and not collects else 0
        popped, pushed = stack_effect(op)
        depth += pushed - popped
        if depth == 1:
            size = position
    return 0
