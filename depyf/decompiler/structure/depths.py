"""How deep the stack is at each block, and where a `for` loop's iterator leaves it.

A `for` loop ends where its iterator is popped: what comes after that pop is no part of the loop, even if it can
only be reached from inside. Blocks are cut there, so that `break` has a place to go to.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from ..flow import Block, Branch, End, ForIter, Graph, Guarded
from ..fold import STRUCTURED
from ..microops import Op, stack_effect
from .guards import SILENT, split_block

Entries = List[Optional[Block]]  # for each stack entry: the header of the loop whose iterator it is


def find_depths(graph: Graph) -> None:
    """Set `depth` of every block that is reached, and cut blocks after the pop of an iterator."""
    work: List[Tuple[Block, Entries]] = [(graph.entry, [None] * graph.entry_depth)]
    seen: Dict[Block, bool] = {}
    while work:
        block, entries = work.pop()
        if block in seen:
            continue
        seen[block] = True
        block.depth = len(entries)
        _walk(graph, block, entries)
        term = block.term
        if isinstance(term, Branch):
            del entries[-1:]
        if isinstance(term, ForIter):
            below = entries[:-1]
            work.append((term.done, below))
            work.append((term.body, [*below, block, None]))
        elif isinstance(term, Guarded):
            handler = graph.program.handlers[term.region.number]
            work.append((term.handler, entries[: handler.depth] + [None] * (1 + handler.lasti)))
            work.append((term.body, entries))
        else:
            work.extend((target, list(entries)) for target in block.successors())


def _walk(graph: Graph, block: Block, entries: Entries) -> None:
    """Run the ops of a block, up to a pop of an iterator that more than a return follows."""
    for position, op in enumerate(block.ops):
        kind = op.kind
        if kind == "SWAP":
            entries[-1], entries[-op.arg] = entries[-op.arg], entries[-1]
        elif kind == "COPY":
            entries.append(entries[-op.arg])
        elif kind == "POP":
            header = entries.pop()
            if header is not None and not _returns(block, position + 1) and position + 1 < len(block.ops):
                split_block(graph, block, position + 1)
                return
        else:
            popped, pushed = STRUCTURED.get(kind) or stack_effect(op)
            if popped:
                del entries[-popped:]
            entries.extend([None] * pushed)


def _returns(block: Block, position: int) -> bool:
    """Whether a block only returns from here on: a return may be said inside the loop."""
    ops: List[Op] = block.ops[position:]
    return isinstance(block.term, End) and all(op.kind in SILENT for op in ops)
