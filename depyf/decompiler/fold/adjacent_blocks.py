"""Adjacent blocks: when one can absorb another, and when two are copies."""

from __future__ import annotations

from typing import List, Optional

from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import Block, Both, End, Jump, Test
from depyf.decompiler.fold.expression_ops import effect


def equivalent(a: Block, b: Block) -> bool:
    """Return whether these are one block, copies of a block that returns or raises, or a `continue` and its loop."""
    if a is b or a is continued(b) or b is continued(a):
        return True
    return (
        isinstance(a.term, End)
        and isinstance(b.term, End)
        and len(a.ops) == len(b.ops)
        and a.regions == b.regions
        and (a.line == b.line or min(a.line, b.line) < 0)
        and all(map(same_op, a.ops, b.ops))
    )


def continued(block: Block) -> Optional[Block]:
    """Return where the `continue` leads that a block is."""
    return block.term.target if block.is_continue and isinstance(block.term, Jump) else None


def swallows(block: Block, other: Block) -> bool:
    """Return whether `other` can only be reached from `block`, by one edge, under the same protection."""
    return len(other.preds) == 1 and other.preds[0] is block and other.regions == block.regions and other is not block


def operand(block: Block, other: Block) -> bool:
    """Return whether `other` computes one more operand for the test that ends `block`."""
    return swallows(block, other) and effect(other.ops) == 1


def take_over(block: Block, other: Block) -> None:
    """Give `block` the terminator of `other`, and remove `other`."""
    term = other.term
    other.set_term(End())
    other.number = -1
    block.set_term(term)


def forget_unreached(block: Block) -> None:
    """Detach an unreachable block from its successors."""
    if not block.preds:
        block.set_term(End())
        block.number = -1


def same_exit(a: Block, b: Block) -> bool:
    """Return whether two blocks both end the function, or both continue at the same place."""
    if isinstance(a.term, Jump) and isinstance(b.term, Jump):
        return a.term.target is b.term.target
    return isinstance(a.term, End) and isinstance(b.term, End)


def ends_with(block: Block, ops: List[Op]) -> bool:
    start = len(block.ops) - len(ops)
    return start >= 0 and all(map(same_op, block.ops[start:], ops))


def both(op: str, first: Test, ops: List[Op], second: Test) -> Both:
    if isinstance(second, Both) and second.op == op and not second.negate:
        second.rest.append((ops, second.first))
        return Both(op, first, second.rest)
    return Both(op, first, [(ops, second)])
