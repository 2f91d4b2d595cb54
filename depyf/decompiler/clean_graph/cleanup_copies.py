"""Undo the copies that the compiler makes of clean-up code.

Each way out of a `with` block calls the manager's exit; each way out of a `try` ... `finally` runs a copy of
the `finally` body. Source text has both once. Here every edge that leaves such a region is led past its
copy, to where control goes afterwards. A `finally` body that never ends (it returns, it raises, it loops for ever)
leaves nowhere to go: a value that was about to be returned is returned to nobody, and the rest leads to one NOWHERE.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, End, ForIter, Graph, Jump, Keep, Simple, Terminator, threaded
from depyf.decompiler.flow.regions import Region, add_members
from depyf.decompiler.flow.stack_depths import depth_after, find_depths

Cursor = Tuple[Block, int]  # a place in a block


def undo_copies(graph: Graph, regions: List[Region]) -> None:
    """Lead every edge out of a `with` or `finally` region past the clean-up that it runs. Inner regions first."""
    undone = [region for region in reversed(regions) if region.kind in ("with", "finally")]
    if undone:
        find_depths(graph)
    members: Dict[Region, List[Block]] = {}
    known = 0
    for region in undone:
        add_members(members, graph.blocks[known:])
        known = len(graph.blocks)
        past: Dict[Any, Optional[Block]] = {}
        nowhere: Optional[Block] = None
        for block in members.get(region, ()):
            for target in block.successors():
                if region in target.regions:
                    continue
                inside = block.regions if region.kind == "with" and _returns_value(target) else region.chain()
                key = (target, inside)
                if key not in past:
                    is_with = region.kind == "with"
                    past[key] = _past_exit(graph, inside, target) if is_with else _past_copy(graph, region, target)
                following = past[key]
                if following is None and target.depth > region.depth:
                    following = _new_block(graph, target, block.regions, [Op("RETURN", None, target.offset)])
                elif following is None:
                    if nowhere is None:
                        ops = [Op("NOWHERE", None, target.offset)]
                        nowhere = _new_block(graph, target, region.entry.regions, ops)
                    following = nowhere
                block.retarget(target, _outside(graph, region, following))


def _new_block(graph: Graph, like: Block, regions: Tuple[Region, ...], ops: List[Op]) -> Block:
    """Return a block in the place of another."""
    block = graph.new_block(like.offset, like.handler, like.line)
    block.depth, block.regions, block.ops = like.depth, regions, ops
    return block


def _outside(graph: Graph, region: Region, block: Block) -> Block:
    """Return a way to `block` that leaves the region first, also if that is where the region begins again: in a
    loop."""
    if region not in block.regions or region.kind == "with" or isinstance(block.term, End):
        return block
    step = _new_block(graph, block, region.entry.regions, [])
    step.set_term(Jump(block))
    return step


def _continuation(graph: Graph, cursor: Cursor) -> Block:
    """Return a block that does what remains from `cursor` on."""
    block, position = _skip_idle(*cursor)
    if position == 0:
        return block
    block.budget.charge(1 + len(block.ops))
    copy = _new_block(graph, block, block.regions, block.ops[position:])
    copy.depth = depth_after(block.depth, block.ops[:position])
    copy.set_term(_copied(block))
    return copy


def _copied(block: Block) -> Terminator:
    """Return a terminator like that of `block`."""
    term = block.term
    if isinstance(term, Jump):
        return Jump(term.target)
    if isinstance(term, Branch) and isinstance(term.test, Simple):
        return Branch(Simple(term.test.kind, term.test.negate, term.test.is_inner), term.true, term.false)
    if isinstance(term, ForIter):
        return ForIter(term.body, term.done, term.is_async)
    if isinstance(term, End):
        return End()
    raise Unstructured(f"cannot copy {term}")


def _returns_value(block: Block) -> bool:
    """Return whether the exit method is called below a value that is about to be returned."""
    return bool(block.ops) and block.ops[0].kind == "SWAP"


def _past_exit(graph: Graph, regions: Tuple[Region, ...], block: Block) -> Block:
    """Return where control goes after the call of the exit method that `block` starts with.

    The stack still holds the exit method: it is popped in place of being called, as the last thing inside `regions`.
    """
    ops = block.ops
    position = 1 if ops and ops[0].kind == "SWAP" and ops[0].arg == 2 else 0
    kinds = [op.kind for op in ops[position : position + 4]]
    if kinds != ["CONST", "CONST", "CONST", "CALL"] or any(op.arg is not None for op in ops[position : position + 3]):
        raise Unstructured("a with block is left without a call of its exit method")
    kept = ops[:position]
    position += 4
    waiting = [op.kind for op in ops[position : position + 3]]
    if waiting == ["GET_AWAITABLE", "CONST", "YIELD_FROM"]:
        position += 3
    if position >= len(ops) or ops[position].kind != "POP":
        raise Unstructured("the result of a with block's exit method is used")
    last = _new_block(graph, block, regions, [*kept, Op("POP", None, ops[position].offset)])
    last.set_term(Jump(_continuation(graph, (block, position + 1))))
    return last


def _past_copy(graph: Graph, region: Region, target: Block) -> Optional[Block]:
    """Return where control goes after the copy of the `finally` body that `target` starts with; None if that never
    ends."""
    ends: List[Cursor] = []
    seen = set()
    base = len(region.entry.regions)  # the copy lies in the same regions as the handler
    levels: Dict[Region, int] = {}  # how many handlers of the body's own are open where a region is entered
    # The last number is how many are open here.
    work: List[Tuple[Cursor, Cursor, int]] = [((region.entry, 1), (target, 0), 0)]
    while work:
        pair = work.pop()
        if pair in seen:
            continue
        seen.add(pair)
        (original, i), (copy, j), level = pair
        while True:
            copy.budget.charge()
            one, other = _skip_idle(original, i), _skip_idle(copy, j)
            if one != (original, i) or other != (copy, j):
                work.append((one, other, level))
                break
            kind = original.ops[i].kind if i < len(original.ops) else ""
            if kind == "RERAISE" and level == 0:
                ends.append((copy, j))
                break
            if level == 0 and _next_kinds(original, i) in LEAVES:
                break  # the body leaves by itself
            level += (kind == "PUSH_EXC_INFO") - (kind == "POP_EXCEPT")
            if len(original.regions) != len(copy.regions):
                raise Unstructured("a finally body and its copy are protected differently")
            for inner, like in zip(original.regions[base:], copy.regions[base:]):
                entered = levels.setdefault(inner, level)  # a region's body comes before its handler
                work.append(((inner.entry, 0), (like.entry, 0), entered))
            if i == len(original.ops) or j == len(copy.ops):
                if i != len(original.ops) or j != len(copy.ops):
                    raise Unstructured("a finally body and its copy differ")
                work.extend((*pair, level) for pair in _pairs(original, copy))
                break
            if not same_op(original.ops[i], copy.ops[j]):
                raise Unstructured("a finally body and its copy differ")
            if isinstance(original.term, End) and i == len(original.ops) - 1:
                break
            i, j = i + 1, j + 1
    if not ends:
        return None
    first = _continuation(graph, ends[0])
    for other in ends[1:]:
        if other != ends[0] and not _same_end(ends[0], other) and _continuation(graph, other) is not first:
            raise Unstructured("copies of a finally body continue in different places")
    return first


# How a `finally` body is left by return, break or continue: the exception is dropped below a value, if there is one.
LEAVES = (("POP", "POP_EXCEPT"), ("SWAP", "POP", "SWAP", "POP_EXCEPT"))


def _next_kinds(block: Block, position: int) -> Tuple[str, ...]:
    """Return the ops from here on, up to POP_EXCEPT; at most four."""
    kinds: List[str] = []
    while len(kinds) < 4 and kinds[-1:] != ["POP_EXCEPT"]:
        block, position = _skip_idle(block, position)
        if position == len(block.ops):
            break
        kinds.append(block.ops[position].kind)
        position += 1
    return tuple(kinds)


def _same_end(a: Cursor, b: Cursor) -> bool:
    """Return whether two places are copies: they do the same until they return or raise, or are at the same place."""
    seen: Set[Tuple[Cursor, Cursor]] = set()
    while True:
        (block, i), (other, j) = a, b = _skip_idle(*a), _skip_idle(*b)
        if a == b or (a, b) in seen:
            return True
        block.budget.charge()
        seen.add((a, b))
        if block.regions != other.regions or i == len(block.ops) or j == len(other.ops):
            return False
        if not same_op(block.ops[i], other.ops[j]):
            return False
        if block.ops[i].kind in ("RETURN", "RAISE", "RERAISE"):
            return True
        a, b = (block, i + 1), (other, j + 1)


def _skip_idle(block: Block, position: int) -> Cursor:
    """Return the place after a jump, and after dropped constants: the compiler leaves some in one copy alone."""
    while [op.kind for op in block.ops[position : position + 2]] == ["CONST", "POP"]:
        position += 2
    if position < len(block.ops) or not isinstance(block.term, Jump):
        return block, position
    return threaded(block.term.target), 0


def _pairs(a: Block, b: Block) -> List[Tuple[Cursor, Cursor]]:
    """Return the successors of two blocks that end alike, in pairs."""
    s, t = a.term, b.term
    if isinstance(s, Branch) and isinstance(t, Branch) and isinstance(s.test, Simple) and isinstance(t.test, Simple):
        if s.test.kind == t.test.kind:
            return [((s.true, 0), (t.true, 0)), ((s.false, 0), (t.false, 0))]
    if isinstance(s, ForIter) and isinstance(t, ForIter) and s.is_async == t.is_async:
        return [((s.body, 0), (t.body, 0)), ((s.done, 0), (t.done, 0))]
    if isinstance(s, Keep) or isinstance(t, Keep):
        raise Unstructured("copies are undone before expressions are folded")
    raise Unstructured("a finally body and its copy end differently")
