"""Undo the copies that the compiler makes of short ends.

A jump to a block of a few instructions that returns or raises is replaced by a copy of that block. The copies
have the source positions of the one statement that they come from, to the column: that tells them from ends
that were written twice.
"""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, Tuple

from ..flow import Block, End, Graph, Jump
from ..microops import Op, depth_needed, stack_effect
from .constants import constant_key

Key = Tuple[Hashable, ...]


def merge_copied_ends(graph: Graph) -> None:
    """Lead the blocks that end with copies of one end to a single block with that end."""
    ends = [block for block in graph.blocks if isinstance(block.term, End) and block.ops]
    if len(ends) < 2:
        return
    positions = list(graph.program.code.co_positions())
    groups: Dict[Key, List[Block]] = {}
    for block in ends:
        last = block.ops[-1]
        if last.kind in ("RETURN", "RAISE") and positions[last.offset // 2][0] is not None:
            groups.setdefault(_key(last, positions), []).append(block)
    for blocks in groups.values():
        if len(blocks) > 1:
            size = _common(blocks, positions)
            if _stands_alone(blocks[0].ops[len(blocks[0].ops) - size :]):
                _merge(graph, blocks, size)


def _key(op: Op, positions: List[Any]) -> Key:
    """What two copies of an op share."""
    constant = op.kind == "CONST"
    return op.kind, constant_key(op.arg) if constant else op.arg, op.handler, positions[op.offset // 2]


def _common(blocks: List[Block], positions: List[Any]) -> int:
    """How many ops at their ends the blocks have in common."""
    size = 1
    longest = min(len(block.ops) for block in blocks)
    while size < longest:
        first = _key(blocks[0].ops[-1 - size], positions)
        if any(_key(block.ops[-1 - size], positions) != first for block in blocks[1:]):
            break
        size += 1
    return size


def _stands_alone(ops: List[Op]) -> bool:
    """Whether the ops use nothing that was on the stack before them."""
    depth = 0
    for op in ops:
        if depth < depth_needed(op):
            return False
        popped, pushed = stack_effect(op)
        depth += pushed - popped
    return True


def _merge(graph: Graph, blocks: List[Block], size: int) -> None:
    """Make the last `size` ops of the blocks one block, the one that is nothing else if there is one."""
    whole = [block for block in blocks if len(block.ops) == size]
    if whole:
        end = whole[0]
    else:
        tail = blocks[0].ops[-size:]
        end = graph.new_block(tail[0].offset, tail[0].handler, graph.lines.get(tail[0].offset, -1))
        end.ops = tail
    for block in blocks:
        if block is not end:
            del block.ops[-size:]
            block.set_term(Jump(end))
