"""Find `match` statements in the graph and rewrite them as blocks that end in a `Case`.

A case is recognised by running it on symbols (see `patterns`) from the place where its subject is on the stack to
the place where its names are bound. Where one of its tests fails, the parts still on the stack are popped one by one
and the next case begins. What is not understood is left alone. Whether all this is right, the proof decides.
"""

from __future__ import annotations

import heapq
import itertools
from typing import List, NamedTuple, Optional, Tuple

from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import FIXED_EFFECTS, STORES, Op, depth_needed, stack_effect
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.flow.graph import Block, Both, Branch, Case, End, Graph, Jump, Simple, Test, negated, threaded
from depyf.decompiler.fold.expression_ops import effect
from depyf.decompiler.fold.irrelevant_tests import always
from depyf.decompiler.structure.case_patterns import Alternatives, NoPattern, Place, Stack, execute, succeed

Cursor = Tuple[Block, int]


class Fail(NamedTuple):
    """Where a failed test leads, and how many entries are on the stack there."""

    cursor: Cursor
    height: int

    def after_pops(self, base: int) -> Fail:
        """Follow the pops after a failed test, as long as there are more than `base` entries."""
        block, position = _skip(*self.cursor)
        height = self.height
        while height > base and position < len(block.ops) and block.ops[position].kind == "POP":
            height -= 1
            block, position = _skip(block, position + 1)
        return Fail((block, position), height)


class Found(NamedTuple):
    """One case that was recognised."""

    start: Cursor
    pattern: Place
    guard: Optional[Tuple[List[Op], Test, bool]]  # the bool: it must be true
    keeps: bool
    body: Optional[Cursor]  # None: the guard never holds, and the compiler dropped the body
    otherwise: Cursor


def recognise_matches(graph: Graph) -> None:
    """Rewrite every `match` statement of the graph."""
    if not facts_for(graph.program.version).has_match_statements:
        return
    if not any(_may_start(op) for block in graph.blocks for op in block.ops):
        return
    # In the order of the code, so that a statement is found at its first case. Blocks are cut on the way.
    work = [(block.offset, place, block) for place, block in enumerate(graph.blocks)]
    heapq.heapify(work)
    while work:
        _, _, block = heapq.heappop(work)
        if block.number < 0 or isinstance(block.term, End):  # where no test fails there is no case
            continue
        for position in _possible_starts(block):
            chain = _chain_at(block, position)
            if chain:
                known = len(graph.blocks)
                _apply(graph, chain)
                for place, new in enumerate(graph.blocks[known:], known):
                    heapq.heappush(work, (new.offset, place, new))
                break


def _may_start(op: Op) -> bool:
    return op.kind in ("MATCH_SEQUENCE", "MATCH_MAPPING", "MATCH_CLASS") or (op.kind == "COPY" and op.arg == 1)


def _possible_starts(block: Block) -> List[int]:
    """Return where cases may begin in a block: up to its end nothing is used that lies below their subject.

    Only there can a test of theirs fail, or the guard.
    """
    starts = [position for position, op in enumerate(block.ops) if _may_start(op)]
    if not starts:
        return []
    first = starts[0]
    effects = [FIXED_EFFECTS.get(op.kind) or stack_effect(op) for op in block.ops[first:]]
    # From the first of them on, and counted from there: before each op, and while it runs.
    depths = [*itertools.accumulate([0, *[pushed - popped for popped, pushed in effects]])]
    lows = [depth - popped for depth, (popped, _) in zip(depths, effects)]
    found = []
    lowest, position = depths[-1], len(lows)
    for start in reversed(starts):
        lowest = min(lowest, *lows[start - first : position])
        position = start - first
        if lowest >= depths[position] - 1 or block.ops[start].kind == "MATCH_CLASS":  # whose subject lies deeper
            found.append(start)
    return found[::-1]


def _chain_at(block: Block, position: int) -> List[Found]:
    """Return the cases of a match statement that begins here; none if there is none."""
    op = block.ops[position]
    if op.kind == "MATCH_CLASS":
        position = _start_of_class(block, position)
    chain = _chain((block, position)) or []
    if len(chain) == 1 and _is_plain_test(chain[0]):
        chain = _chain((block, position), keeps_first=True) or []
    return [] if len(chain) == 1 and _is_plain_test(chain[0]) else chain


def _is_plain_test(found: Found) -> bool:
    """Return whether a statement of one case is as good as an `if`; not if a `case x:` follows, which is no test.

    `case x as y if z:` is `x = y = subject` and an `if`.
    """
    if found.keeps:
        return False
    return not found.pattern.kind or (found.pattern.kind in ("value", "singleton") and not found.pattern.names)


def _start_of_class(block: Block, position: int) -> int:
    """Return where the class expression begins that a MATCH_CLASS uses."""
    position -= 2
    while position > 0 and block.ops[position].kind == "LOAD_ATTR":
        position -= 1
    return max(position, 0)


def _chain(start: Cursor, keeps_first: bool = False) -> Optional[List[Found]]:
    """Return the cases from `start` on. Each but the last keeps the subject for the next one.

    `keeps_first`: a first case that could be the last one, because the next drops the subject, is not.
    """
    found: List[Found] = []
    while True:
        last = _case(start, keeps=False) if found or not keeps_first else None
        if last is not None:
            return [*found, last]
        if found and _is_capture(start):
            return found
        case = _case(start, keeps=True) or (_guarded_wildcard(start) if found else None)
        if case is None:
            return None
        found.append(case)
        start = case.otherwise


def _guarded_wildcard(start: Cursor) -> Optional[Found]:
    """Return `case _ if guard:`, of which some compilers leave the guard alone; None if there is none."""
    guarded = _Case(start, keeps=True).guard(*start, None)
    return Found(start, Place(), guarded[0], True, guarded[1], guarded[2]) if guarded is not None else None


def _is_capture(cursor: Cursor) -> bool:
    """Return whether the last case is `case x:`, a store of the subject."""
    block, position = cursor
    return position < len(block.ops) and block.ops[position].kind in STORES


def _case(start: Cursor, keeps: bool) -> Optional[Found]:
    try:
        return _Case(start, keeps).parse()
    except (NoPattern, IndexError):
        return None


class _Case:
    """Runs one case."""

    def __init__(self, start: Cursor, keeps: bool) -> None:
        self.start = start
        self.keeps = keeps
        self.fails: List[Fail] = []
        self.has_stored = False  # names are bound only after all tests
        self.joined: Optional[Tuple[List[Op], Test, bool]] = None  # the guard, where it was joined with the last test

    def parse(self) -> Found:
        """Return the case; NoPattern if there is none."""
        block, position = self.start
        pattern = Place()
        below = ["subject"] if self.keeps else []
        if self.keeps:
            op = block.ops[position]
            if op.kind != "COPY" or op.arg != 1:
                raise NoPattern("the subject is not kept")
            position += 1
        stack: Stack = [*below, pattern]
        cursor = self.run((block, position), stack, len(below))
        self.fails = [fail.after_pops(len(below)) for fail in self.fails]  # the parts that are left are popped
        if any(fail.height != len(below) for fail in self.fails):
            raise NoPattern("a test fails to somewhere else")
        return self.finish(pattern, cursor)

    def run(self, cursor: Cursor, stack: Stack, height: int, joins: bool = False) -> Cursor:
        """Run until only `height` entries are left.

        With `joins`, until a block that other paths lead to, or until something below `height` is touched: an
        alternative of an or-pattern ends there.
        """
        block, position = cursor
        while joins or len(stack) > height:
            block.budget.charge()
            if position == len(block.ops):
                block, position = self.follow(block, stack), 0
                if joins and len(block.preds) > 1:
                    break
                continue
            op = block.ops[position]
            if op.kind == "COPY" and op.arg == 1 and isinstance(stack[-1], Place):
                after = self.alternatives((block, position), stack)
                if after is not None:
                    block, position = after
                    continue
            if joins and (op.kind in STORES or depth_needed(op) > len(stack) - height):
                break
            execute(op, stack)
            self.has_stored = self.has_stored or op.kind in STORES
            position += 1
        return block, position

    def follow(self, block: Block, stack: Stack) -> Block:
        """Return the block after this one on the way of success."""
        term = block.term
        if isinstance(term, Jump):
            return term.target
        if not isinstance(term, Branch) or self.has_stored or self.joined:
            raise NoPattern("a pattern that ends")
        test = term.test.first if isinstance(term.test, Both) else term.test
        if not isinstance(test, Simple):
            raise NoPattern("a test that no pattern has")
        outcome = succeed(stack.pop(), test.kind == "none") != test.negate
        if isinstance(term.test, Both):
            outcome = self.split(term.test, outcome, len(stack))
        success, failure = (term.true, term.false) if outcome else (term.false, term.true)
        self.fails.append(Fail((failure, 0), len(stack)))
        return success

    def split(self, test: Both, outcome: bool, height: int) -> bool:
        """Split a last test that was joined with the guard, `0 == subject and guard`; return the outcome if both
        hold."""
        if outcome != (test.op == "and") or height != int(self.keeps):
            raise NoPattern("a compound test in a pattern")
        ops, first = test.rest[-1]
        self.joined = ops, Both(test.op, first, test.rest[:-1]) if len(test.rest) > 1 else first, outcome
        return outcome != test.negate

    def alternatives(self, cursor: Cursor, stack: Stack) -> Optional[Cursor]:
        """Run an or-pattern on the top of the stack; None if there is none here."""
        height = len(stack)
        outer = self.fails
        found: List[Place] = []
        captures: List[Stack] = []
        end: Optional[Cursor] = None
        block, position = cursor
        try:
            while True:
                alternative = Place()
                inner = [*stack, alternative]
                self.fails = []
                reached = _skip(*self.run((block, position + 1), inner, height, joins=True))
                if end is not None and not _same_place(end, reached):
                    return None
                end = end or reached
                found.append(alternative)
                captures.append(inner[height:])
                here, beyond = self.next_alternative(height, end)
                outer = [*outer, *beyond]
                if here is None:
                    break
                if _same_place(here, end):  # `| _`, of which the compiler leaves nothing
                    found.append(Place())
                    captures.append([])
                    break
                block, position = here
        except (NoPattern, IndexError):
            return None
        finally:
            self.fails = outer
        if len(found) < 2 or len({len(captured) for captured in captures}) != 1:
            return None
        stack[-1].become("or")
        stack[-1].parts = found
        stack.extend(Alternatives(list(places)) for places in zip(*captures))
        return end

    def next_alternative(self, height: int, end: Cursor) -> Tuple[Optional[Cursor], List[Fail]]:
        """Return where the next alternative begins, or None, and the tests that fail to beyond the or-pattern."""
        here: Optional[Cursor] = None
        beyond: List[Fail] = []
        for fail in self.fails:
            (block, position), left = fail.after_pops(height)
            starts = position < len(block.ops) and block.ops[position].kind == "COPY" and block.ops[position].arg == 1
            if left != height or not (starts or _same_place((block, position), end)):
                beyond.append(fail)
            elif here is not None and here != (block, position):
                raise NoPattern("alternatives that fail to different places")
            else:
                here = block, position
        return here, beyond

    def finish(self, pattern: Place, cursor: Cursor) -> Found:
        """Return the guard, if there is one, and where the body begins."""
        block, position = cursor
        block, position = _skip(block, position)
        is_body = position < len(block.ops) and block.ops[position].kind == "POP"
        guard: Optional[Tuple[List[Op], Test, bool]] = None
        body: Optional[Cursor] = (block, position)
        otherwise = self.fails[0].cursor if self.fails else None
        if self.keeps and not is_body and otherwise is not None and _same_place((block, position), otherwise):
            return Found(self.start, pattern, _never(self.joined), True, None, otherwise)
        if self.joined is not None:
            if self.keeps and not is_body:
                raise NoPattern("the subject is still there when the body begins")
            guard = self.joined
        elif not self.keeps or not is_body:
            guarded = self.guard(block, position, otherwise)
            if guarded is not None:
                guard, body, otherwise = guarded
            elif self.keeps:
                raise NoPattern("the subject is still there when the body begins")
        if otherwise is None or any(not _same_place(otherwise, fail.cursor) for fail in self.fails):
            raise NoPattern("tests that fail to different places")
        return Found(self.start, pattern, guard, self.keeps, body, otherwise)

    def guard(
        self, block: Block, position: int, otherwise: Optional[Cursor]
    ) -> Optional[Tuple[Tuple[List[Op], Test, bool], Optional[Cursor], Cursor]]:
        """Return (the guard, the body, the next case)."""
        term = block.term
        ops = block.ops[position:]
        if not isinstance(term, Branch) or effect(ops) != 1 or (position == 0 and len(block.preds) > 1):
            return None
        if self.keeps and otherwise is not None:
            if _same_place(_skip(term.true, 0), otherwise) and _same_place(_skip(term.false, 0), otherwise):
                return _never((ops, term.test, True)), None, otherwise
            if term.true is term.false and term.true.ops and term.true.ops[0].kind == "POP":
                return (ops, always(term.test, True), True), (term.true, 0), otherwise
        for body, failure, is_true in ((term.true, term.false, True), (term.false, term.true, False)):
            if otherwise is not None and not _same_place(_skip(failure, 0), otherwise):
                continue
            if self.keeps and not (body.ops and body.ops[0].kind == "POP"):
                continue
            return (ops, term.test, is_true), (body, 0), _skip(failure, 0)
        return None


def _skip(block: Block, position: int) -> Cursor:
    if position < len(block.ops) or not isinstance(block.term, Jump):
        return block, position
    return threaded(block.term.target), 0


def _same_place(a: Cursor, b: Cursor) -> bool:
    """Return whether two cursors are at the same place, or at copies of the same end or of the same way to one
    place."""
    if a == b:
        return True
    (block, i), (other, j) = a, b
    both_jump = isinstance(block.term, Jump) and isinstance(other.term, Jump) and block.term.target is other.term.target
    both_end = isinstance(block.term, End) and isinstance(other.term, End)
    if not (both_jump or both_end) or block.regions != other.regions:
        return False
    return len(block.ops) - i == len(other.ops) - j and all(map(same_op, block.ops[i:], other.ops[j:]))


def _apply(graph: Graph, chain: List[Found]) -> None:
    """Rewrite the blocks of a match statement, the last case first, so that places in blocks stay right."""
    following: Optional[Block] = None
    for found in reversed(chain):
        otherwise = following if following is not None else _cut(graph, found.otherwise)
        body = _nothing(graph, found.start[0]) if found.body is None else _cut(graph, found.body)
        block, position = found.start
        head = block if found is chain[0] else _cut(graph, found.start)
        del head.ops[position if found is chain[0] else 0 :]
        guard = None
        if found.guard is not None:
            ops, test, is_true = found.guard
            guard = (ops, test if is_true else negated(test))
        gone = head.successors()
        head.set_term(Case(found.pattern, guard, found.keeps, body, otherwise))
        _forget(gone)
        following = head


def _never(guard: Optional[Tuple[List[Op], Test, bool]]) -> Tuple[List[Op], Test, bool]:
    """Return a guard that never holds, whatever its first part gives."""
    if guard is None:
        return [Op("CONST", False, -1)], Simple("true"), True
    return guard[0], always(guard[1], False), True


def _nothing(graph: Graph, start: Block) -> Block:
    """Return the body of a case that is never chosen: it leads nowhere."""
    body = graph.new_block(start.offset, start.handler, start.line)
    body.regions = start.regions
    body.ops = [Op("POP", None, start.offset), Op("NOWHERE", None, start.offset)]
    return body


def _forget(blocks: List[Block]) -> None:
    """Take the edges of blocks away that nothing leads to any more."""
    while blocks:
        block = blocks.pop()
        if not block.preds and block.number >= 0:
            blocks.extend(block.successors())
            block.set_term(End())
            block.number = -1


def _cut(graph: Graph, cursor: Cursor) -> Block:
    block, position = cursor
    return block if position == 0 else graph.split(block, position)
