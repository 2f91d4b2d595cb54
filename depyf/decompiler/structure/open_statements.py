"""Open statements: which loops and handlers each block is inside of, by what is on its stack, and where they end.

A `for` loop ends where its iterator is popped, an `except` clause where the exception state is: what comes after that
pop is no part of the statement, even if it can only be reached from inside. Blocks are cut there, so that `break` has
a place to go to.
"""

from __future__ import annotations

from typing import List, Set, Tuple, Union

from depyf.decompiler.analysis.nonraising_ops import SILENT, made_of
from depyf.decompiler.bytecode.microops import FIXED_EFFECTS, stack_effect
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, Case, End, ForIter, Graph, Guarded, Jump
from depyf.decompiler.flow.regions import Region

# What a stack entry is: the iterator of the loop with this header, the exception state of this region's handler.
Entry = Union[None, Block, Region]
MOST_OPEN = 100  # CPython's compiler accepts 20 (CO_MAXBLOCKS)
_TOO_FEW = "a handler finds less on the stack than its statement leaves there"
_MOVES = frozenset({"SWAP", "COPY", "POP", "POP_EXCEPT"})


def find_open_statements(graph: Graph) -> None:
    """Set `depth`, `handlers`, `loops` of every block that is reached; cut blocks where a loop or a clause ends."""
    work: List[Tuple[Block, List[Entry]]] = [(graph.entry, [None] * graph.entry_depth)]
    seen: Set[Block] = set()
    while work:
        block, entries = work.pop()
        if block in seen:
            continue
        seen.add(block)
        block.budget.charge(1 + len(entries) // 8)
        block.depth = len(entries)
        block.handlers = tuple(entry for entry in entries if isinstance(entry, Region))
        block.loops = tuple(entry for entry in entries if isinstance(entry, Block))
        if len(block.handlers) + len(block.loops) > MOST_OPEN:
            raise Unstructured(f"more than {MOST_OPEN} loops and handlers are nested")
        _walk(graph, block, entries)
        term = block.term
        if isinstance(term, Branch) or (isinstance(term, Case) and not term.keeps):
            del entries[-1:]
        if isinstance(term, ForIter):
            below = entries[:-1]
            work.append((term.done, below))
            work.append((term.body, [*below, block, None]))
        elif isinstance(term, Guarded):
            handler = graph.program.handlers[term.region.number]
            # What `except*` has on the stack is gone; what a `with` entered is popped in its body.
            kept = min(handler.depth, len(entries) - (term.region.kind == "with"))
            # The exception itself stands for the state that PUSH_EXC_INFO will put in its place.
            work.append((term.handler, [*entries[:kept], *([None] * handler.lasti), term.region]))
            work.append((term.body, entries))
        else:
            work.extend((target, list(entries)) for target in block.successors())


def _walk(graph: Graph, block: Block, entries: List[Entry]) -> None:
    """Run the ops of a block, up to the end of a loop or clause that more than a return follows."""
    if entries.count(None) == len(entries):
        entries[:] = [None] * _depth_after(block, len(entries))
        return
    for position, op in enumerate(block.ops):
        kind = op.kind
        if kind in _MOVES and len(entries) < (op.arg or 1):
            raise Unstructured(_TOO_FEW)
        if kind == "SWAP":
            entries[-1], entries[-op.arg] = entries[-op.arg], entries[-1]
        elif kind == "COPY":
            copied = entries[-op.arg]
            entries.append(None if isinstance(copied, Region) else copied)
        elif kind == "PUSH_EXC_INFO":
            entries.append(None)
        elif kind in ("POP", "POP_EXCEPT"):
            popped = entries.pop()
            if isinstance(popped, Block) or (isinstance(popped, Region) and popped.kind != "with"):
                may_return = not (isinstance(popped, Region) and popped.is_star)
                if _cut(graph, block, position + 1, may_return):
                    return
        else:
            count, pushed = FIXED_EFFECTS.get(kind) or stack_effect(op)
            if count:
                del entries[-count:]
            entries.extend([None] * pushed)


def _depth_after(block: Block, depth: int) -> int:
    """Return how many entries there are after the ops of a block, where none is that of a loop or a handler."""
    for op in block.ops:
        kind = op.kind
        if kind in _MOVES and depth < (op.arg or 1):
            raise Unstructured(_TOO_FEW)
        count, pushed = FIXED_EFFECTS.get(kind) or stack_effect(op)
        depth = (depth - count if count < depth else 0) + pushed
    return depth


def _cut(graph: Graph, block: Block, position: int, may_return: bool) -> bool:
    """Cut a block here unless nothing comes after, or only a return that may be written inside the statement."""
    ops = block.ops[position:]
    if len(ops) >= 3 and ops[0].kind == "CONST" and ops[0].arg is None and ops[1].kind.startswith("STORE_"):
        if ops[2].kind.startswith("DELETE_") and ops[1].arg == ops[2].arg:
            position += 3  # the variable of the clause is unbound
            ops = ops[3:]
    if not ops and isinstance(block.term, (Jump, End)):
        return False
    if may_return and isinstance(block.term, End) and made_of(ops, SILENT):
        return False
    graph.split(block, position)
    return True
