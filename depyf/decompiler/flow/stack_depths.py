"""Stack depths: how deep the stack is at each block, before copies are undone."""

from __future__ import annotations

from typing import List, Set, Tuple

from depyf.decompiler.bytecode.microops import FIXED_EFFECTS, Op, stack_effect
from depyf.decompiler.flow.graph import Block, Branch, ForIter, Graph


def find_depths(graph: Graph) -> None:
    """Set `depth` of every block that is reached."""
    seen: Set[Block] = set()
    work: List[Tuple[Block, int]] = [(graph.entry, graph.entry_depth)]
    while work:
        block, depth = work.pop()
        if block in seen:
            continue
        seen.add(block)
        block.depth = depth
        if block.handler >= 0:
            handler = graph.program.handlers[block.handler]
            work.append((graph.handler_block(block.handler), handler.depth + handler.lasti + 1))
        depth = depth_after(depth, block.ops)
        term = block.term
        if isinstance(term, ForIter):
            work += [(term.body, depth + 1), (term.done, depth - 1)]
        else:
            work += [(target, depth - isinstance(term, Branch)) for target in block.successors()]


def depth_after(depth: int, ops: List[Op]) -> int:
    """Return how deep the stack is after the ops."""
    for op in ops:
        popped, pushed = FIXED_EFFECTS.get(op.kind) or stack_effect(op)
        depth += pushed - popped
    return depth
