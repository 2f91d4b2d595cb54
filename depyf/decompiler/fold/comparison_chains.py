"""Comparison chains: `a < b < c`, where b stays on the stack between the two comparisons."""

from __future__ import annotations

from typing import List, Optional, Tuple, Union

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import Block, Both, Branch, End, Jump, Keep, Simple, Test
from depyf.decompiler.fold.adjacent_blocks import (
    ends_with,
    equivalent,
    forget_unreached,
    same_exit,
    swallows,
    take_over,
)
from depyf.decompiler.fold.expression_ops import comparison, effect, reaches_below


def ends_in_chain(ops: List[Op]) -> bool:
    """Match SWAP 2, COPY 2, comparison: the middle operand of a chained comparison stays on the stack."""
    return (
        len(ops) >= 3
        and ops[-3].kind == "SWAP" and ops[-3].arg == 2
        and ops[-2].kind == "COPY" and ops[-2].arg == 2
        and comparison(ops[-1]) is not None
    )  # fmt: skip


def join_chain(block: Block) -> bool:
    """Fold `if a < b (b kept): if b < c: X else Y; else drop b, Y` into `if a < b < c: X else: Y`."""
    term = block.term
    if not isinstance(term, Branch) or not isinstance(term.test, Simple) or not ends_in_chain(block.ops):
        return False
    if term.test.kind != "true":
        return False
    for more, clean in ((term.true, term.false), (term.false, term.true)):
        inner = more.term
        if [op.kind for op in clean.ops] != ["POP"] or not isinstance(clean.term, Jump) or not swallows(block, more):
            continue
        if not isinstance(inner, Branch) or more is not term.true:
            continue
        if not more.ops and isinstance(inner.test, Simple) and inner.test.kind == "none":
            _spell_none_test(more, inner, clean.term.target)
        outcome = _if_first_is_false(block, inner.test)
        if outcome is None or not equivalent(inner.true if outcome else inner.false, clean.term.target):
            continue
        link = _chain_link(more.ops)
        if link is None:
            continue
        _append_chain(block, link)
        take_over(block, more)
        if not clean.preds:  # else longer chains share it
            clean.set_term(End())
            clean.number = -1
        return True
    return False


def join_value_chain(block: Block, term: Keep) -> bool:
    """Fold `a < b`, kept if false with b below it, else `b < c`, into the value `a < b < c`."""
    if not ends_in_chain(block.ops) or term.when or not isinstance(term.test, Simple):
        return False
    clean, more = term.keep, term.drop
    if not swallows(block, more) or [(op.kind, op.arg) for op in clean.ops[:2]] != [("SWAP", 2), ("POP", None)]:
        return False
    found = _after_chain(clean, more)
    link = _chain_link(more.ops[: len(more.ops) - found[0]]) if found is not None else None
    if found is None or link is None:
        return False
    _, after, onward = found
    _append_chain(block, link)
    block.ops.extend(after)
    more.set_term(End())
    more.number = -1
    block.set_term(onward)
    forget_unreached(clean)
    return True


def _after_chain(clean: Block, more: Block) -> Optional[Tuple[int, List[Op], Union[Jump, End]]]:
    """Return what follows the value of a chained comparison, where both paths to it meet.

    That is (number of ops at the end of `more` that belong to it, those of them to keep, terminator). The compiler may
    have copied the start of what follows to the end of both blocks, or of `more` alone.
    """
    rest = clean.ops[2:]
    if same_exit(clean, more) and ends_with(more, rest):
        onward = Jump(clean.term.target) if isinstance(clean.term, Jump) else End()
        return len(rest), more.ops[len(more.ops) - len(rest) :], onward
    if not rest and isinstance(clean.term, Jump):
        target = clean.term.target
        if target.ops and same_exit(target, more) and ends_with(more, target.ops) and target.regions == more.regions:
            return len(target.ops), [], Jump(target)
    return None


def _chain_link(ops: List[Op]) -> Optional[List[Tuple[List[Op], str]]]:
    """Return the rest of a chained comparison (reversed), if `ops` compute an operand and compare with it."""
    if not ops:
        return None
    if ops[-1].kind == "TO_BOOL":
        ops = ops[:-1]
    last = ops[-1]
    operand = ops[:-1]
    if effect(operand) != 1:
        return None
    operator = comparison(last)
    if operator is not None:
        return [(operand, operator)]
    if last.kind == "CHAIN":
        operator, rest = last.arg
        rest.append((operand, operator))
        chain: List[Tuple[List[Op], str]] = rest
        return chain
    return None


def _append_chain(block: Block, link: List[Tuple[List[Op], str]]) -> None:
    """Replace SWAP 2, COPY 2, comparison at the end of `block` by the chained comparison."""
    last = block.ops[-1]
    operator = comparison(last)
    del block.ops[-3:]
    block.ops.append(Op("CHAIN", (operator, link), last.offset))


def continues_chain(block: Block) -> bool:
    """Return whether a block is the second comparison of a chain that is a test: it is no test by itself."""
    if len(block.preds) > len(block.ops) and not reaches_below(block.ops):
        return False
    follows_one = any(
        isinstance(pred.term, Branch) and pred.term.true is block and ends_in_chain(pred.ops) for pred in block.preds
    )
    return follows_one and reaches_below(block.ops)


def _spell_none_test(block: Block, term: Branch, if_false: Block) -> None:
    """Make the comparison of a branch on None explicit, for `... is None` at the end of a chained comparison.

    The comparison is spelled such that it is false where control continues at `if_false`.
    """
    assert isinstance(term.test, Simple)
    is_negated = equivalent(term.true, if_false)
    block.ops = [Op("CONST", None, block.offset), Op("IS", int(term.test.negate is not is_negated), block.offset)]
    term.test = Simple("true", is_negated)


def _if_first_is_false(block: Block, test: Test) -> Optional[bool]:
    """Return the outcome of a test when its first operand is false, or None if that does not decide it."""
    around: List[Both] = []
    while isinstance(test, Both):
        around.append(test)
        test = test.first
    block.budget.charge(len(around))
    if not isinstance(test, Simple) or test.kind != "true":
        return None
    outcome = test.negate
    for both in reversed(around):
        if outcome is not (both.op == "or"):
            return None
        outcome = outcome is not both.negate
    return outcome
