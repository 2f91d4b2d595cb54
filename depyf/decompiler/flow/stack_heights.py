"""Stack heights: how high the stack is at each block, before copies are undone."""

from __future__ import annotations

from typing import List, Set, Tuple

from depyf.decompiler.bytecode.microops import Op, stack_effect
from depyf.decompiler.flow.graph import Block, Branch, ForIter, Graph


def find_heights(graph: Graph) -> None:
    """Set `depth` of every block that is reached."""
    seen: Set[Block] = set()
    work: List[Tuple[Block, int]] = [(graph.entry, graph.entry_depth)]
    while work:
        block, height = work.pop()
        if block in seen:
            continue
        seen.add(block)
        block.depth = height
        if block.handler >= 0:
            handler = graph.program.handlers[block.handler]
            work.append((graph.handler_block(block.handler), handler.depth + handler.lasti + 1))
        height = height_after(height, block.ops)
        term = block.term
        if isinstance(term, ForIter):
            work += [(term.body, height + 1), (term.done, height - 1)]
        else:
            work += [(target, height - isinstance(term, Branch)) for target in block.successors()]


def height_after(height: int, ops: List[Op]) -> int:
    """Return how high the stack is after the ops."""
    for op in ops:
        popped, pushed = stack_effect(op)
        height += pushed - popped
    return height
