"""Undo the inlining of comprehensions (PEP 709): each becomes one op, an expression like any other.

The compiler writes `[f(x) for x in y]` into the function around it. The variables that belong to the
comprehension are put aside and restored afterwards, also when an exception is on its way:

    iterator of y; LOAD_LOCAL_AND_CLEAR x; SWAP 2; BUILD_LIST 0; SWAP 2        the last two on under a handler
    the loop, with LIST_APPEND
    SWAP 2; STORE_LOCAL x                                                      maybe mixed with what comes next

All of it is taken out of the graph, the loop as a graph of its own, and one op stands in its place:

    COMPREHENSION c        iterator -> the list, set or dict;  c: `Comprehension`

One that has no variables of its own, as `[f() for x.y in z]` has none, is written into the function without all that:

    iterator of z; BUILD_LIST 0; SWAP 2; the loop

Since 3.15 the iterator is not taken at first but right before the loop, in both forms:

    z; BUILD_LIST 0; SWAP 2; GET_ITER; the loop

Where a graph breaks in a comprehension, Dynamo copies it into a function of its own, without the handlers. That begins
with what had been put aside, which is NULL for a variable that had no value, and with the iterator:

    PUSH_NULL; LOAD_LOCAL ___stack0; BUILD_LIST 0; SWAP 2; the loop; SWAP 2; STORE_LOCAL x
"""

from __future__ import annotations

import heapq
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.constant_equality import constant_key
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.clean_graph.async_loops import REQUEST
from depyf.decompiler.flow.graph import Block, Branch, End, ForIter, Graph, Jump, Simple

PUTS_ASIDE = frozenset({"LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL"})
RESTORES = frozenset({"STORE_LOCAL", "RESTORE_CELL"})
COLLECTION_AND_ITERATOR = 2  # what is on the stack when the loop begins
TAKES_ITERATOR = frozenset({"GET_ITER", "GET_AITER"})
DISPLAYS = {"BUILD_LIST": "<listcomp>", "BUILD_SET": "<setcomp>", "BUILD_MAP": "<dictcomp>"}


class Comprehension:
    """What a COMPREHENSION op computes. Two are equal if they are copies of one."""

    __slots__ = ("kind", "own", "rebound", "shape", "tree", "uncaptured", "unset")

    def __init__(
        self, kind: str, own: FrozenSet[str], rebound: FrozenSet[str], shape: Any, uncaptured: Tuple[str, ...] = ()
    ) -> None:
        self.kind = kind  # "<listcomp>", "<setcomp>", "<dictcomp>"
        self.own = own  # its own variables
        self.uncaptured = uncaptured  # those that are cells for functions that the compiler dropped
        self.unset: Tuple[str, ...] = ()  # those of loops that the compiler dropped
        self.rebound = rebound  # variables of the function around it that it assigns to (with :=)
        self.shape = shape  # all that is inside, for comparing
        self.tree: Any = None  # the region tree of its loop

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comprehension) and self.shape == other.shape and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"Comprehension({self.kind}, {sorted(self.own)})"


class _Opening(NamedTuple):
    """Where a comprehension begins."""

    block: Block  # the variables are put aside in this one
    position: int  # at this op
    names: Tuple[str, ...]
    kind: str
    first: Block  # where the loop begins
    handler: int  # the one that restores the variables; that of the code around if there are none
    is_protected: bool = True  # whether there is such a handler
    given: Tuple[Op, ...] = ()  # what pushes the values put aside, where Dynamo has cut there


def fold_comprehensions(graph: Graph, tree_of: Callable[[Graph], Any]) -> None:
    """Replace the inlined comprehensions of `graph`. `tree_of` gives the region tree of a graph."""
    # In the order of the code, so that one is found before those inside it.
    work = [(block.offset, place, block) for place, block in enumerate(graph.blocks) if _may_open(block)]
    heapq.heapify(work)
    gone: Set[Block] = set()
    while work:
        _, _, block = heapq.heappop(work)
        opening = None if block in gone else _opening(graph, block)
        while opening is not None:
            known = len(graph.blocks)
            taken = _take_out(graph, opening, tree_of)
            gone |= taken
            for place, new in enumerate(graph.blocks[known:], known):
                if _may_open(new):
                    heapq.heappush(work, (new.offset, place, new))
            opening = _opening(graph, block) if taken else None
    if gone:
        graph.blocks[:] = [block for block in graph.blocks if block not in gone]


def _may_open(block: Block) -> bool:
    return bool(block.ops) and (block.ops[-1].kind == "SWAP" or block.ops[-1].kind in TAKES_ITERATOR)


def _opening(graph: Graph, block: Block) -> Optional[_Opening]:
    """Return the beginning of a comprehension at the end of a block."""
    position = len(block.ops) - 1
    while position > 0 and block.ops[position - 1].kind in PUTS_ASIDE:
        position -= 1
    names = tuple(op.arg for op in block.ops[position:-1])
    if not names:
        return _bare_opening(graph, block)
    if block.ops[-1].kind != "SWAP" or block.ops[-1].arg != len(names) + 1:
        return None
    if not isinstance(block.term, Jump):
        return None
    start = block.term.target
    if len(start.preds) != 1 or len(start.ops) < 2 or start.handler < 0:
        return None
    display, swap_back = start.ops[:2]
    if display.kind not in DISPLAYS or display.arg or swap_back.kind != "SWAP" or swap_back.arg != 2:
        return None
    return _Opening(block, position, names, DISPLAYS[display.kind], start, start.handler)


def _bare_opening(graph: Graph, block: Block) -> Optional[_Opening]:
    """Return the beginning of a comprehension without variables, or without handlers, at the end of a block."""
    size = len(block.ops) - (bool(block.ops) and block.ops[-1].kind in TAKES_ITERATOR)
    if size < 2 or not isinstance(block.term, Jump):
        return None
    display, swap = block.ops[size - 2 : size]
    loop = block.term.target
    if display.kind not in DISPLAYS or display.arg or swap.kind != "SWAP" or swap.arg != 2:
        return None
    if not _is_async_head(graph, loop) and (loop.ops or not isinstance(loop.term, ForIter)):
        return None
    position = size - 2
    names = _put_aside(block.ops[:position])
    given: Tuple[Op, ...] = ()
    if names:
        position -= len(names) + 1
    elif position and all(op.kind in ("PUSH_NULL", "LOAD_LOCAL") for op in block.ops[:position]):
        given = tuple(block.ops[: position - 1]) if block.preds == [graph.entry] else ()
    return _Opening(block, position, names, DISPLAYS[display.kind], loop, block.handler, False, given)


def _is_async_head(graph: Graph, block: Block) -> bool:
    """Return whether a block asks for the next value of an `async for`, which ends in the handler around it."""
    if [op.kind for op in block.ops] != REQUEST or block.handler < 0 or not isinstance(block.term, Jump):
        return False
    done = graph.handler_block(block.handler)
    return bool(done.ops) and done.ops[0].kind == "END_ASYNC_FOR"


def _put_aside(ops: List[Op]) -> Tuple[str, ...]:
    """Return the variables that the last of these ops put aside, under an iterator."""
    size = ops[-1].arg - 1 if ops and ops[-1].kind == "SWAP" else 0
    last = ops[-size - 1 : -1]
    return tuple([op.arg for op in last]) if all(op.kind in PUTS_ASIDE for op in last) else ()


def _take_out(graph: Graph, opening: _Opening, tree_of: Callable[[Graph], Any]) -> Set[Block]:
    """Put one op in the place of a comprehension, if all of it is as expected; returns the blocks that are gone."""
    inside = _inside(graph, opening) if opening.is_protected else _loop(graph, opening)
    ends = {target for block in inside for target in block.successors() if target not in inside}
    if len(ends) != 1 or any(pred not in inside for block in inside - {opening.first} for pred in block.preds):
        return set()
    (end,) = ends
    if opening.names or opening.given:
        kept = _without_restoring(end.ops, opening)
        if kept is None or any(pred not in inside for pred in end.preds):
            return set()
    else:
        kept = end.ops
    block = opening.block
    taking = opening.first.ops[2:3] if opening.is_protected else block.ops[-1:]
    taking = [op for op in taking if op.kind in TAKES_ITERATOR]
    if opening.is_protected:
        del opening.first.ops[: 2 + len(taking)]
    shape, stored = _shape(opening.first, end)
    own = frozenset(opening.names)
    cells = [op.arg for op in block.ops[opening.position :] if op.kind == "RENEW_CELL"]
    found = Comprehension(opening.kind, own, frozenset(stored - own), shape, _uncaptured(cells, inside))
    found.unset = tuple(name for name in opening.names if name not in stored)
    offset = block.ops[opening.position].offset
    del block.ops[opening.position :]
    del block.ops[: len(opening.given)]
    block.ops += [*taking, Op("COMPREHENSION", found, offset)]
    block.set_term(End())
    part = _part(graph, opening, inside, end)
    if (opening.names or opening.given) and block.handler == end.handler:
        block.ops.extend(kept)
        block.set_term(end.term)
        end.set_term(End())
        inside.add(end)
    else:
        end.ops = kept
        block.set_term(Jump(end))
    found.tree = tree_of(part)
    return inside | {graph.handler_block(opening.handler)} if opening.is_protected else inside


def _uncaptured(cells: List[str], inside: Set[Block]) -> Tuple[str, ...]:
    """Return the cells that no function made in a comprehension refers to."""
    if not cells:
        return ()
    made = [op.arg for block in inside for op in block.ops if op.kind == "CONST" and isinstance(op.arg, CODE_TYPES)]
    captured = {name for code in made for name in code.co_freevars}
    return tuple(name for name in cells if name not in captured)


def _inside(graph: Graph, opening: _Opening) -> Set[Block]:
    """Return the blocks of a comprehension: from them an exception reaches the handler that restores the variables."""
    known: Dict[int, bool] = {-1: False, opening.handler: True}

    def leads_there(handler: int) -> bool:
        path: Dict[int, None] = {}
        while handler not in known and handler not in path:
            path[handler] = None
            handler = graph.handler_block(handler).handler
        found = known.get(handler, False)
        known.update((step, found) for step in path)
        return found

    seen = {opening.first}
    work = [opening.first]
    while work:
        block = work.pop()
        targets = block.successors()
        if block.handler not in (-1, opening.handler):
            targets.append(graph.handler_block(block.handler))
        for target in targets:
            if target not in seen and leads_there(target.handler):
                seen.add(target)
                work.append(target)
    return seen


def _loop(graph: Graph, opening: _Opening) -> Set[Block]:
    """Return the blocks of a comprehension without variables: its loop, which is left only where it ends."""
    loop = opening.first
    if isinstance(loop.term, ForIter):
        seen, work, done = {loop}, [loop.term.body], loop.term.done
    else:
        last = graph.handler_block(loop.handler)
        seen, work, done = {loop, last}, loop.successors(), graph.split(last, 1)  # after END_ASYNC_FOR
    while work:
        block = work.pop()
        if block in seen or block is done:
            continue
        seen.add(block)
        work.extend(block.successors())
        if block.handler not in (-1, opening.handler):
            work.append(graph.handler_block(block.handler))
    return seen


def _without_restoring(ops: List[Op], opening: _Opening) -> Optional[List[Op]]:
    """Return what is left of the ops after a comprehension when they need not restore its variables."""
    names = opening.names
    stack: List[Any] = list(opening.given)
    if names:
        stack += [names[-1], *names[:-1]]
    stack.append("")  # the result, which was swapped with the last of them
    kept: List[Op] = []
    for position, op in enumerate(ops):
        if not any(stack):
            return [*kept, *ops[position:]]
        if op.kind == "SWAP" and op.arg <= len(stack):
            stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
        elif isinstance(stack[-1], Op) and op.kind == "STORE_LOCAL":
            given = stack.pop()
            kept.extend(() if given.kind == "PUSH_NULL" else (given, op))
        elif stack[-1] and op.kind in RESTORES and op.arg == stack[-1]:
            stack.pop()
        elif not stack[-1] and (op.kind in STORES or op.kind == "POP"):
            stack.pop()
            kept.append(op)
        else:
            return None
    return None if any(stack) else kept


def _shape(first: Block, end: Block) -> Tuple[Any, Set[str]]:
    """Return (everything inside, in a form that can be compared; the variables that are stored to)."""
    numbers = {end: -1}
    order = [first]
    numbers[first] = 0
    rows: List[Any] = []
    stored: Set[str] = set()
    for block in order:  # grows while it is walked
        for target in block.successors():
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
        test = block.term.test if isinstance(block.term, Branch) else None
        kind = (type(test), test.kind, test.negate) if isinstance(test, Simple) else type(block.term)
        rows.append((kind, [numbers[target] for target in block.successors()]))
        rows.extend((op.kind, _comparable(op)) for op in block.ops)
        stored.update(op.arg for op in block.ops if op.kind in STORES)
    return rows, stored


def _comparable(op: Op) -> Any:
    if op.kind != "CONST" or isinstance(op.arg, CODE_TYPES):
        return op.arg
    return constant_key(op.arg)


def _part(graph: Graph, opening: _Opening, inside: Set[Block], end: Block) -> Graph:
    """Return the loop of a comprehension as a graph of its own; it ends in an empty block."""
    for block in inside:
        if block.handler == opening.handler:
            block.handler = -1
    part = graph.part(sorted(inside, key=lambda block: block.number), COLLECTION_AND_ITERATOR)
    leave = part.new_block(end.offset, -1, end.line)
    for block in inside:
        block.retarget(end, leave)
    part.entry.set_term(Jump(opening.first))
    return part
