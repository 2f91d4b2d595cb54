"""Joined tests: `and`, `or` and conditional expressions whose outcome is a branch."""

from __future__ import annotations

from depyf.decompiler.flow.graph import Block, Branch, Choice, End, Keep, negated
from depyf.decompiler.fold.adjacent_blocks import both, equivalent, operand
from depyf.decompiler.fold.expression_ops import ends_in_membership
from depyf.decompiler.fold.irrelevant_tests import always, is_settled, towards


def join_tests(block: Block) -> bool:
    """Fold `if a: if b: X` into `if a and b: X` where the other exits are the same; likewise for `or`."""
    term = block.term
    if not isinstance(term, Branch):
        return False
    for other, out, op in ((term.true, term.false, "and"), (term.false, term.true, "or")):
        inner = other.term
        if not isinstance(inner, Branch) or not operand(block, other) or out is other:
            continue
        if is_settled(inner) and not equivalent(inner.true, out) and other.line == block.line:
            _join_settled(block, other, out, op)
            return True
        shared = next((exit for exit in (inner.true, inner.false) if equivalent(exit, out)), None)
        if shared is None:
            continue
        same = equivalent(inner.false, out) if op == "and" else equivalent(inner.true, out)
        first, test = term.test, inner.test
        onward = (inner.true if same else inner.false) if op == "and" else (inner.false if same else inner.true)
        if not same and _is_assertion(onward) and (ends_in_membership(block.ops) or ends_in_membership(other.ops)):
            continue  # `if a in b: assert c`: as one test it would be `assert a not in b or c`
        if not same and _opposite_first(block, other, onward, out):
            op = "or" if op == "and" else "and"
            first = negated(first)
        elif not same:
            test = negated(test)
        out = shared if shared.is_continue else out
        true, false = (onward, out) if op == "and" else (out, onward)
        other.set_term(End())
        other.number = -1
        block.set_term(Branch(both(op, first, other.ops, test), true, false))
        return True
    return False


def _is_assertion(block: Block) -> bool:
    """Return whether a block is what an assert statement does when its test fails."""
    if not block.ops or block.ops[-1].kind != "RAISE":
        return False
    return block.ops[0].kind == "LOAD_ASSERTION_ERROR" or block.ops[0].arg == AssertionError.__name__  # 3.8


def _join_settled(block: Block, other: Block, out: Block, op: str) -> None:
    """Fold `if a: (if b: pass); X` into `if a and (b or True): X`."""
    term, inner = block.term, other.term
    assert isinstance(term, Branch) and isinstance(inner, Branch)
    onward = inner.true
    test = both(op, term.test, other.ops, always(inner.test, op == "and"))
    other.set_term(End())
    other.number = -1
    block.set_term(Branch(test, onward, out) if op == "and" else Branch(test, out, onward))


def _opposite_first(block: Block, other: Block, onward: Block, out: Block) -> bool:
    """Return whether `not a or b` spells a test better than `a and not b`.

    `is` and `in` have opposites of their own, so the source did not negate them. Otherwise what comes first in the
    code comes first in the text.
    """
    in_first, in_second = ends_in_membership(block.ops), ends_in_membership(other.ops)
    if in_first is not in_second:
        return in_second
    return 0 <= out.offset < onward.offset


def join_choice(block: Block) -> bool:
    """Fold `if a: (if x: P else: Q) else: (if y: P else: Q)` into `if (x if a else y): P else: Q`."""
    term = block.term
    if not isinstance(term, Branch):
        return False
    a, b = term.true, term.false
    x, y = a.term, b.term
    if not (isinstance(x, Branch) and isinstance(y, Branch) and operand(block, a) and operand(block, b)):
        return False
    true, false = (x.true, x.false) if is_settled(y) else (y.true, y.false)
    if is_settled(x) and is_settled(y):
        return False
    first, second = towards(x, true, false), towards(y, true, false)
    if first is None or second is None:
        return False
    for gone in (a, b):
        gone.set_term(End())
        gone.number = -1
    block.set_term(Branch(Choice(term.test, (a.ops, first), (b.ops, second)), true, false))
    return True


def join_kept_tests(block: Block) -> bool:
    """Fold `(a or b) and c`, where the test of a leads past the value of b, which is kept if false."""
    term = block.term
    if not isinstance(term, Branch):
        return False
    for other, out in ((term.true, term.false), (term.false, term.true)):
        inner = other.term
        if not isinstance(inner, Keep) or not operand(block, other) or inner.drop is not out:
            continue
        op = "and" if inner.when else "or"
        evaluates_second_when_true = other is term.true
        first = term.test if evaluates_second_when_true == (op == "and") else negated(term.test)
        keep, drop, when = inner.keep, inner.drop, inner.when
        test = both(op, first, other.ops, inner.test)
        other.set_term(End())
        other.number = -1
        block.set_term(Keep(test, when, keep, drop))
        return True
    return _join_kept_choice(block, term)


def _join_kept_choice(block: Block, term: Branch) -> bool:
    """Fold `(x if a else y) and z`."""
    a, b = term.true, term.false
    x, y = a.term, b.term
    if not (isinstance(x, Keep) and isinstance(y, Keep) and operand(block, a) and operand(block, b)):
        return False
    if x.keep is not y.keep or x.drop is not y.drop or x.when != y.when:
        return False
    keep, drop, when = x.keep, x.drop, x.when
    for gone in (a, b):
        gone.set_term(End())
        gone.number = -1
    block.set_term(Keep(Choice(term.test, (a.ops, x.test), (b.ops, y.test)), when, keep, drop))
    return True
