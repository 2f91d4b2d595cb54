"""The rules by which one block absorbs another. Each examines one block and the two or three after it."""

from __future__ import annotations

from typing import Callable, Tuple

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, Graph, Jump, Keep, Simple, threaded
from depyf.decompiler.fold.adjacent_blocks import swallows, take_over
from depyf.decompiler.fold.comparison_chains import ends_in_chain, join_chain
from depyf.decompiler.fold.irrelevant_tests import join_dropped
from depyf.decompiler.fold.joined_tests import join_choice, join_kept_tests, join_tests
from depyf.decompiler.fold.joined_values import join_operand, join_select, join_value, spread_test


def apply_rules(graph: Graph, expressions: bool) -> None:
    """Apply the rules until none applies, innermost expressions first; visit changed blocks again.

    Without `expressions` only straight lines are joined: every branch stays a statement.
    """
    rules = (*RULES, lambda block: join_dropped(block, graph.lines)) if expressions else (join_straight,)
    for block in graph.blocks:
        _prepare(graph, block)
    order = graph.drop_unreachable()
    work = list(order)  # popped from the end: successors before predecessors
    while work:
        queued = set(work)
        while work:
            block = work.pop()
            block.budget.charge(1 + len(block.ops) // 32)
            queued.discard(block)
            if block.number < 0:
                continue
            while True:
                for rule in rules:
                    if rule(block):
                        break
                else:
                    break
                block.budget.charge(1 + len(block.preds) // 8 + len(block.ops) // 32)
                for pred in block.preds:
                    if pred not in queued:
                        queued.add(pred)
                        work.append(pred)
        if expressions:
            graph.program.budget.charge(len(graph.blocks))
            work = [pred for block in graph.blocks for pred in spread_test(block)]
            work = work or [block for block in graph.blocks if block.number >= 0 and join_operand(block)]
    for block in graph.blocks:
        _unfold_keep(graph, block)


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
            if len(target.ops) > 1 and target.ops[0].kind == "POP" and ends_in_chain(ops):
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


def _detect_keep(block: Block) -> None:
    """Match COPY 1, branch, POP on one side: the value stays on the other."""
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
    """Turn a Keep that no rule could use back into an ordinary branch."""
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


def join_straight(block: Block) -> bool:
    """Join two blocks, A; B, into one."""
    term = block.term
    if not isinstance(term, Jump):
        return False
    other = term.target
    if not swallows(block, other):
        return False
    if block.offset < 0:
        block.offset = other.offset
    if block.line < 0:
        block.line = other.line
    block.ops.extend(other.ops)
    take_over(block, other)
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
