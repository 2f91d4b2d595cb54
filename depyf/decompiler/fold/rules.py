"""The rules by which one block swallows another. Each looks at one block and the two or three after it."""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple, Union

from ..flow import Block, Both, Branch, Choice, End, Graph, Jump, Keep, Simple, Test, negated, threaded
from ..microops import Op, depth_needed, stack_effect
from ..undo.copies import Unstructured, same_op
from .expressions import STRUCTURED, comparison, effect, ends_in_membership


def fold(graph: Graph, expressions: bool = True) -> None:
    """Apply the rules until none applies. Innermost expressions first; a change looks again at what it touched.

    Without `expressions` only straight lines are joined: every branch stays a statement.
    """
    rules = RULES if expressions else (join_straight,)
    for block in graph.blocks:
        _prepare(graph, block)
    order = drop_unreachable(graph)
    work = list(order)  # popped from the end: successors before predecessors
    queued = set(work)
    while work:
        block = work.pop()
        queued.discard(block)
        if block.number < 0:
            continue
        while any(rule(block) for rule in rules):
            for pred in block.preds:
                if pred not in queued:
                    queued.add(pred)
                    work.append(pred)
    for block in graph.blocks:
        _unfold_keep(graph, block)


def drop_unreachable(graph: Graph) -> List[Block]:
    """Forget blocks that are never reached, and their edges; returns the others, predecessors first."""
    order = graph.reachable()
    alive = set(order)
    for block in graph.blocks:
        if block not in alive:
            block.set_term(End())
            block.number = -1
    graph.blocks[:] = [block for block in graph.blocks if block in alive]
    return order


def _prepare(graph: Graph, block: Block) -> None:
    """Spell branches in one way: no TO_BOOL before them, no empty blocks between, Keep where a value stays."""
    term = block.term
    ops = block.ops
    for position in range(len(ops) - 1, 0, -1):
        if ops[position].kind == "UNARY" and ops[position].arg == "not" and ops[position - 1].kind == "TO_BOOL":
            del ops[position - 1]
    if isinstance(term, Branch):
        if ops and ops[-1].kind == "TO_BOOL":
            ops.pop()
        for target in (term.true, term.false):
            if len(target.ops) > 1 and target.ops[0].kind == "POP" and _ends_in_chain(ops):
                _split_first(graph, target)
        _detect_keep(block)
    for target in block.successors():
        final = threaded(target)
        if final is not target:
            block.retarget(target, final)


def _split_first(graph: Graph, block: Block) -> None:
    """Make the first op of a block a block of its own."""
    rest = graph.new_block(block.offset, block.handler, block.line)
    rest.regions = block.regions
    rest.ops, block.ops = block.ops[1:], block.ops[:1]
    for target in block.successors():
        target.preds.remove(block)
        target.preds.append(rest)
    rest.term, block.term = block.term, Jump(rest)
    rest.preds.append(block)


def _ends_in_chain(ops: List[Op]) -> bool:
    """SWAP 2, COPY 2, comparison: the middle operand of a chained comparison stays on the stack."""
    return (
        len(ops) >= 3
        and ops[-3].kind == "SWAP" and ops[-3].arg == 2
        and ops[-2].kind == "COPY" and ops[-2].arg == 2
        and comparison(ops[-1]) is not None
    )  # fmt: skip


def _detect_keep(block: Block) -> None:
    """COPY 1, branch, POP on one side: the value stays on the other."""
    term = block.term
    if not isinstance(term, Branch) or not isinstance(term.test, Simple) or term.test.kind != "true":
        return
    if not block.ops or block.ops[-1].kind != "COPY" or block.ops[-1].arg != 1:
        return
    for drop, keep, when in ((term.true, term.false, False), (term.false, term.true, True)):
        if drop.preds == [block] and drop.ops and drop.ops[0].kind == "POP" and drop.regions == block.regions:
            del drop.ops[0]
            block.ops.pop()
            block.set_term(Keep(term.test, when, keep, drop))
            return


def _unfold_keep(graph: Graph, block: Block) -> None:
    """A Keep that no rule could use becomes an ordinary branch again."""
    term = block.term
    if not isinstance(term, Keep):
        return
    drop = graph.new_block(block.offset, block.handler, block.line)
    drop.regions = block.regions
    drop.ops = [Op("POP", None, block.ops[-1].offset if block.ops else -1)]
    block.ops.append(Op("COPY", 1, drop.ops[0].offset))
    if not isinstance(term.test, Simple):
        raise Unstructured("a compound test whose value stays has no statement")
    true, false = (term.keep, drop) if term.when else (drop, term.keep)
    target = term.drop
    block.set_term(Branch(term.test, true, false))
    drop.set_term(Jump(target))


def equivalent(a: Block, b: Block) -> bool:
    """The same block, or two copies of one that returns or raises."""
    if a is b:
        return True
    return (
        isinstance(a.term, End)
        and isinstance(b.term, End)
        and len(a.ops) == len(b.ops)
        and a.regions == b.regions
        and (a.line == b.line or min(a.line, b.line) < 0)
        and all(map(same_op, a.ops, b.ops))
    )


def _swallows(block: Block, other: Block) -> bool:
    """Whether `other` can only be reached from `block`, by one edge, under the same protection."""
    return len(other.preds) == 1 and other.preds[0] is block and other.regions == block.regions and other is not block


def _operand(block: Block, other: Block) -> bool:
    """Whether `other` computes one more operand for the test that ends `block`."""
    return _swallows(block, other) and effect(other.ops) == 1


def join_straight(block: Block) -> bool:
    """A; B -> AB"""
    term = block.term
    if not isinstance(term, Jump):
        return False
    other = term.target
    if not _swallows(block, other):
        return False
    if block.offset < 0:
        block.offset = other.offset
    if block.line < 0:
        block.line = other.line
    block.ops.extend(other.ops)
    _take_over(block, other)
    return True


def _take_over(block: Block, other: Block) -> None:
    """Give `block` the terminator of `other`, which is gone then."""
    term = other.term
    other.set_term(End())
    other.number = -1
    block.set_term(term)


def _forget_unreached(block: Block) -> None:
    """Without an edge to it, a block has none to others either."""
    if not block.preds:
        block.set_term(End())
        block.number = -1


def _both(op: str, first: Test, ops: List[Op], second: Test) -> Both:
    if isinstance(second, Both) and second.op == op and not second.negate:
        second.rest.append((ops, second.first))
        return Both(op, first, second.rest)
    return Both(op, first, [(ops, second)])


def join_tests(block: Block) -> bool:
    """if a: if b: X -> if a and b: X, where the other ways out are the same; likewise for `or`"""
    term = block.term
    if not isinstance(term, Branch):
        return False
    for other, out, op in ((term.true, term.false, "and"), (term.false, term.true, "or")):
        inner = other.term
        if not isinstance(inner, Branch) or not _operand(block, other) or out is other:
            continue
        if not equivalent(inner.true, out) and not equivalent(inner.false, out):
            continue
        same = equivalent(inner.false, out) if op == "and" else equivalent(inner.true, out)
        first, test = term.test, inner.test
        onward = (inner.true if same else inner.false) if op == "and" else (inner.false if same else inner.true)
        if not same and _opposite_first(block, other, onward, out):
            op = "or" if op == "and" else "and"
            first = negated(first)
        elif not same:
            test = negated(test)
        true, false = (onward, out) if op == "and" else (out, onward)
        other.set_term(End())
        other.number = -1
        block.set_term(Branch(_both(op, first, other.ops, test), true, false))
        return True
    return False


def _opposite_first(block: Block, other: Block, onward: Block, out: Block) -> bool:
    """Whether `not a or b` says a test better than `a and not b`.

    `is` and `in` have opposites of their own, so one that is to be negated was not written so. Else what comes
    first in the code comes first in the text.
    """
    in_first, in_second = ends_in_membership(block.ops), ends_in_membership(other.ops)
    if in_first is not in_second:
        return in_second
    return 0 <= out.offset < onward.offset


def join_choice(block: Block) -> bool:
    """if a: (if x: P else: Q) else: (if y: P else: Q) -> if (x if a else y): P else: Q"""
    term = block.term
    if not isinstance(term, Branch):
        return False
    a, b = term.true, term.false
    x, y = a.term, b.term
    if not (isinstance(x, Branch) and isinstance(y, Branch) and _operand(block, a) and _operand(block, b)):
        return False
    crossed = equivalent(x.true, y.false) and equivalent(x.false, y.true)
    if not crossed and not (equivalent(x.true, y.true) and equivalent(x.false, y.false)):
        return False
    true, false = (y.true, y.false) if crossed else (x.true, x.false)
    first = negated(x.test) if crossed else x.test
    for gone in (a, b):
        gone.set_term(End())
        gone.number = -1
    block.set_term(Branch(Choice(term.test, (a.ops, first), (b.ops, y.test)), true, false))
    return True


def _value_arm(block: Block, arm: Block) -> Optional[Tuple[List[Op], List[Op], Optional[Block]]]:
    """(ops, ops after the join, join) of an arm that computes one value and goes to the join or returns it."""
    if not _swallows(block, arm):
        return None
    if isinstance(arm.term, Jump) and effect(arm.ops) == 1:
        return arm.ops, [], arm.term.target
    if isinstance(arm.term, End) and arm.ops[-1:] and arm.ops[-1].kind == "RETURN" and effect(arm.ops[:-1]) == 1:
        return arm.ops[:-1], arm.ops[-1:], None
    return None


def join_select(block: Block) -> bool:
    """if a: push x else: push y -> x if a else y"""
    term = block.term
    if not isinstance(term, Branch) or _continues_chain(block):
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


def _join_select_copied(block: Block, term: Branch) -> bool:
    """The arms of a conditional expression that end with a copy of what comes next, one of them or both."""
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
    """What comes after a conditional expression, where it was copied to the ends of both arms.

    It takes what is on the stack below, as the addition in `a + (b if c else d)` does: no statement could.
    """
    if not _swallows(block, one) or not _swallows(block, other) or not _same_exit(one, other):
        return []
    if not _reaches_below(one.ops) or not _reaches_below(other.ops):
        return []
    count = 0
    while count < min(len(one.ops), len(other.ops)) and same_op(one.ops[-1 - count], other.ops[-1 - count]):
        count += 1
    for size in range(count, 0, -1):
        if effect(one.ops[:-size]) == 1 and effect(other.ops[:-size]) == 1:
            return one.ops[-size:]
    return []


def _reaches_below(ops: List[Op]) -> bool:
    """Whether ops use values that were on the stack before them."""
    depth = 0
    for op in ops:
        structured = STRUCTURED.get(op.kind)
        if depth < (structured[0] if structured else depth_needed(op)):
            return True
        popped, pushed = structured or stack_effect(op)
        depth += pushed - popped
    return False


def _select(block: Block, term: Branch, then: List[Op], orelse: List[Op]) -> None:
    block.ops.append(Op("SELECT", (term.test, then, orelse), block.ops[-1].offset if block.ops else -1))
    for gone in (term.true, term.false):
        gone.set_term(End())
        gone.number = -1


def _arm_to(block: Block, arm: Block, join: Block) -> Optional[List[Op]]:
    """The ops of an arm that computes one value and goes to the join, or ends with a copy of it."""
    if not _swallows(block, arm):
        return None
    ops = arm.ops
    if not isinstance(arm.term, Jump) or arm.term.target is not join:
        if not join.ops or not _same_exit(arm, join) or not _ends_with(arm, join.ops) or arm.regions != join.regions:
            return None
        ops = ops[: len(ops) - len(join.ops)]
    return ops if effect(ops) == 1 else None


def _one_line(*blocks: Block) -> bool:
    return blocks[0].line >= 0 and all(block.line == blocks[1].line for block in blocks[1:]) and (
        blocks[0].note in (None, blocks[1].line)
    )


def join_value(block: Block) -> bool:
    """a, kept if false, else dropped for b -> a and b; likewise for `or`, and for chained comparisons"""
    term = block.term
    if not isinstance(term, Keep):
        return False
    ops = _arm_to(block, term.drop, term.keep)
    if ops is None:
        return _join_value_chain(block, term) or _join_keeps(block, term)
    op = "or" if term.when else "and"
    drop, keep = term.drop, term.keep
    offset = block.ops[-1].offset if block.ops else block.offset
    block.ops.append(Op("BOOL", (op, term.test, _operands(op, ops)), offset))
    drop.set_term(End())
    drop.number = -1
    block.set_term(Jump(keep))
    return True


def _join_keeps(block: Block, term: Keep) -> bool:
    """(a and b) and c, where c is reached in other ways too: a and b are kept at the same place"""
    inner = term.drop.term
    if not isinstance(inner, Keep) or not _operand(block, term.drop) or len(inner.drop.preds) < 2:
        return False
    if inner.keep is not term.keep or inner.when != term.when:
        return False
    other, keep, drop = term.drop, inner.keep, inner.drop
    test = _both("or" if term.when else "and", term.test, other.ops, inner.test)
    other.set_term(End())
    other.number = -1
    block.set_term(Keep(test, inner.when, keep, drop))
    return True


def _operands(operator: str, ops: List[Op]) -> List[List[Op]]:
    """The operands after the first, reversed: a chain of the same operator is one, however long it is."""
    last = ops[-1]
    if last.kind == "BOOL" and last.arg[0] == operator and isinstance(last.arg[1], Simple) and not last.arg[1].negate:
        rest: List[List[Op]] = last.arg[2]
        rest.append(ops[:-1])
        return rest
    return [ops]


def _join_value_chain(block: Block, term: Keep) -> bool:
    """a < b kept if false with b below it, cleaned up there; else b < c -> a < b < c"""
    if not _ends_in_chain(block.ops) or term.when or not isinstance(term.test, Simple):
        return False
    clean, more = term.keep, term.drop
    if not _swallows(block, more) or [(op.kind, op.arg) for op in clean.ops[:2]] != [("SWAP", 2), ("POP", None)]:
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
    _forget_unreached(clean)
    return True


def _after_chain(clean: Block, more: Block) -> Optional[Tuple[int, List[Op], Union[Jump, End]]]:
    """What follows the value of a chained comparison, where both ways to it meet.

    (how many ops at the end of `more` belong to that, those of them that are to be kept, how to go on). The compiler
    may have copied the start of what follows to the end of both blocks, or of `more` alone.
    """
    rest = clean.ops[2:]
    if _same_exit(clean, more) and _ends_with(more, rest):
        onward = Jump(clean.term.target) if isinstance(clean.term, Jump) else End()
        return len(rest), more.ops[len(more.ops) - len(rest) :], onward
    if not rest and isinstance(clean.term, Jump):
        target = clean.term.target
        if target.ops and _same_exit(target, more) and _ends_with(more, target.ops) and target.regions == more.regions:
            return len(target.ops), [], Jump(target)
    return None


def _same_exit(a: Block, b: Block) -> bool:
    """Whether two blocks both end the function, or both go on at the same place."""
    if isinstance(a.term, Jump) and isinstance(b.term, Jump):
        return a.term.target is b.term.target
    return isinstance(a.term, End) and isinstance(b.term, End)


def _ends_with(block: Block, ops: List[Op]) -> bool:
    start = len(block.ops) - len(ops)
    return start >= 0 and all(map(same_op, block.ops[start:], ops))


def _chain_link(ops: List[Op]) -> Optional[List[Tuple[List[Op], str]]]:
    """The rest of a chained comparison (reversed), if `ops` compute an operand and compare with it."""
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


def join_chain(block: Block) -> bool:
    """if a < b (b kept): if b < c: X else Y; else drop b, Y -> if a < b < c: X else: Y"""
    term = block.term
    if not isinstance(term, Branch) or not isinstance(term.test, Simple) or not _ends_in_chain(block.ops):
        return False
    if term.test.kind != "true":
        return False
    for more, clean in ((term.true, term.false), (term.false, term.true)):
        inner = more.term
        if [op.kind for op in clean.ops] != ["POP"] or not isinstance(clean.term, Jump) or not _swallows(block, more):
            continue
        if not isinstance(inner, Branch) or more is not term.true:
            continue
        if not more.ops and isinstance(inner.test, Simple) and inner.test.kind == "none":
            _spell_none_test(more, inner)
        outcome = _if_first_is_false(inner.test)
        if outcome is None or not equivalent(inner.true if outcome else inner.false, clean.term.target):
            continue
        link = _chain_link(more.ops)
        if link is None:
            continue
        _append_chain(block, link)
        _take_over(block, more)
        if not clean.preds:  # else longer chains share it
            clean.set_term(End())
            clean.number = -1
        return True
    return False


def _continues_chain(block: Block) -> bool:
    """Whether a block is the second comparison of a chain that is a test: it is no test by itself."""
    return any(
        isinstance(pred.term, Branch) and pred.term.true is block and _ends_in_chain(pred.ops) for pred in block.preds
    )


def _spell_none_test(block: Block, term: Branch) -> None:
    """`... is None` at the end of a chained comparison: write the comparison out that the branch does by itself."""
    assert isinstance(term.test, Simple)
    block.ops = [Op("CONST", None, block.offset), Op("IS", int(term.test.negate), block.offset)]
    term.test = Simple("true")


def _if_first_is_false(test: Test) -> Optional[bool]:
    """What a test comes out as when its first operand is false, if that decides it."""
    around: List[Both] = []
    while isinstance(test, Both):
        around.append(test)
        test = test.first
    if not isinstance(test, Simple) or test.kind != "true":
        return None
    outcome = test.negate
    for both in reversed(around):
        if outcome is not (both.op == "or"):
            return None
        outcome = outcome is not both.negate
    return outcome


def join_kept_tests(block: Block) -> bool:
    """(a or b) and c: the test of a leads past the value of b, which is kept if false"""
    term = block.term
    if not isinstance(term, Branch):
        return False
    for other, out in ((term.true, term.false), (term.false, term.true)):
        inner = other.term
        if not isinstance(inner, Keep) or not _operand(block, other) or inner.drop is not out:
            continue
        op = "and" if inner.when else "or"
        evaluates_second_when_true = other is term.true
        first = term.test if evaluates_second_when_true == (op == "and") else negated(term.test)
        keep, drop, when = inner.keep, inner.drop, inner.when
        test = _both(op, first, other.ops, inner.test)
        other.set_term(End())
        other.number = -1
        block.set_term(Keep(test, when, keep, drop))
        return True
    return _join_kept_choice(block, term)


def _join_kept_choice(block: Block, term: Branch) -> bool:
    """(x if a else y) and z"""
    a, b = term.true, term.false
    x, y = a.term, b.term
    if not (isinstance(x, Keep) and isinstance(y, Keep) and _operand(block, a) and _operand(block, b)):
        return False
    if x.keep is not y.keep or x.drop is not y.drop or x.when != y.when:
        return False
    keep, drop, when = x.keep, x.drop, x.when
    for gone in (a, b):
        gone.set_term(End())
        gone.number = -1
    block.set_term(Keep(Choice(term.test, (a.ops, x.test), (b.ops, y.test)), when, keep, drop))
    return True


RULES: Tuple[Callable[[Block], bool], ...] = (
    join_straight,
    join_chain,
    join_tests,
    join_choice,
    join_value,
    join_kept_tests,
    join_select,
)
