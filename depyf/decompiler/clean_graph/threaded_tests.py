"""Undo the threading of tests: an operand of `and` or `or` whose truth is certain leads past the next test of it.

Since 3.14 the compiler (jump_thread in Python/flowgraph.c) leads `b`, where it is false, straight to `y`:

    (a if c else b and d) or y      ... LOAD b; COPY 1; BRANCH_FALSE ->drop; POP; LOAD d
                                    test: COPY 1; BRANCH_TRUE ->end
                                    drop: POP; LOAD y
                                    end:

Here it leads to the test again. Only tests of values that stay on the stack are concerned: others are threaded in every
version, and folding expects that.
"""

from __future__ import annotations

from typing import Tuple

from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.flow.graph import Block, Branch, Graph, Simple


def undo_threaded_tests(graph: Graph) -> None:
    """Lead operands whose truth is certain to the next test of it."""
    threads = facts_for(graph.program.version).kept_tests_are_threaded
    if not threads or not any(_keeps(block) for block in graph.blocks):
        return
    for block in sorted(graph.blocks, key=lambda block: -block.offset):
        if _keeps(block):
            _lead_dropped_back(graph, block)
    for block in sorted(graph.blocks, key=lambda block: -block.offset):
        if _keeps(block) and not _start(block):
            _lead_kept_back(block)


def _keeps(block: Block) -> bool:
    """Return whether a block tests a value and leaves it on the stack."""
    term = block.term
    if not isinstance(term, Branch) or not isinstance(term.test, Simple) or term.test.kind != "true":
        return False
    start = _start(block)
    return start >= 0 and block.ops[start].kind == "COPY" and block.ops[start].arg == 1


def _start(block: Block) -> int:
    """Return where the ops of the test itself begin: COPY 1 and TO_BOOL."""
    return len(block.ops) - (2 if block.ops[-1:] and block.ops[-1].kind == "TO_BOOL" else 1)


def _ways(block: Block) -> Tuple[Tuple[bool, Block], Tuple[bool, Block]]:
    term = block.term
    assert isinstance(term, Branch)
    return (True, term.true), (False, term.false)


def _next_and_jump(block: Block) -> Tuple[Tuple[bool, Block], Tuple[bool, Block]]:
    """Return (outcome, block) where the code continues, and where it jumps to: an operand is dropped in the first."""
    one, other = _ways(block)
    return (one, other) if one[1].offset < other[1].offset else (other, one)


def _drops(block: Block) -> bool:
    return bool(block.ops) and block.ops[0].kind == "POP"


def _is_next_operand(block: Block) -> bool:
    """Return whether a block drops an operand for the next one, and not a statement the value of all of them."""
    block.budget.charge(len(block.preds) // 8)
    return _drops(block) and any(_keeps(pred) and _next_and_jump(pred)[0][1] is block for pred in block.preds)


def _lead_dropped_back(graph: Graph, block: Block) -> None:
    """Lead a block that jumps to where its value is dropped to the test before that place: it has the same outcome."""
    (_, following), (outcome, target) = _next_and_jump(block)
    if following is target or not _drops(following) or not _drops(target):
        return
    block.budget.charge(len(target.preds) // 8)
    tests = [
        pred
        for pred in target.preds
        if block.offset < pred.offset < target.offset and _keeps(pred) and _next_and_jump(pred)[0] == (outcome, target)
    ]
    if tests:
        test = max(tests, key=lambda test: test.offset)
        _retarget(block, outcome, graph.split(test, _start(test)) if _start(test) else test)


def _lead_kept_back(test: Block) -> None:
    """Lead operands that jump to where a test jumps to the test: those that not every path to the test computes."""
    for outcome, target in _ways(test):
        if not _is_next_operand(target):
            test.budget.charge(len(target.preds) // 8)
            for pred in list(target.preds):
                if pred.offset < test.offset and _keeps(pred) and dict(_ways(pred))[outcome] is target:
                    if not _drops(dict(_ways(pred))[not outcome]) or _is_on_all_paths(pred, test):
                        continue
                    _retarget(pred, outcome, test)


def _is_on_all_paths(block: Block, test: Block) -> bool:
    """Return whether each path to `test` goes through a block before it; blocks of an expression are in order."""
    seen, work = {test}, [test]
    while work:
        block.budget.charge()
        for pred in work.pop().preds:
            if pred is block or pred in seen:
                continue
            if pred.offset < block.offset:
                return False
            seen.add(pred)
            work.append(pred)
    return True


def _retarget(block: Block, outcome: bool, target: Block) -> None:
    term = block.term
    assert isinstance(term, Branch) and isinstance(term.test, Simple)
    test = Simple(term.test.kind, term.test.negate, term.test.is_inner)
    block.set_term(Branch(test, target, term.false) if outcome else Branch(test, term.true, target))
