"""The ends of an `except` clause: the compiler copies them where they are short; the text has one."""

from __future__ import annotations

from typing import Dict, Iterator, List, Set, Tuple

from depyf.decompiler.flow.graph import Block, Graph, Guarded, Jump

UNBINDING = 3  # `e = None; del e`


def clause_ends(start: Block) -> Iterator[Tuple[Block, int]]:
    """(block, position of POP_EXCEPT) for each place where control leaves the clause that begins with `start`."""
    seen: Set[Tuple[Block, int]] = set()
    work = [(start, 1)]
    while work:
        block, level = work.pop()
        if (block, level) in seen:
            continue
        seen.add((block, level))
        for position, op in enumerate(block.ops):
            if op.kind == "POP_EXCEPT":
                level -= 1
                if level == 0:
                    yield block, position
                    break
        if level == 0:
            continue
        term = block.term
        if isinstance(term, Guarded):
            work.append((term.handler, level + 1))
            work.append((term.body, level))
        else:
            work.extend((target, level) for target in block.successors())


def merge_clause_ends(graph: Graph, start: Block) -> None:
    """Where control leaves a clause for the same place, it does so in one block."""
    groups: Dict[Tuple[Block, int], List[Tuple[Block, int]]] = {}
    for block, position in list(clause_ends(start)):
        length = len(block.ops) - position
        if isinstance(block.term, Jump) and length in (1, 1 + UNBINDING):
            groups.setdefault((block.term.target, length), []).append((block, position))
    for (target, _), ends in groups.items():
        if len(ends) > 1:
            _merge(graph, start, target, ends)


def _merge(graph: Graph, start: Block, target: Block, ends: List[Tuple[Block, int]]) -> None:
    whole = [block for block, position in ends if position == 0]
    if whole:
        end = whole[0]
    else:
        block, position = ends[0]
        end = graph.new_block(block.ops[position].offset, block.handler, block.line)
        end.ops = block.ops[position:]
        end.regions = start.regions  # the statement may be the last in another: then the target is outside of that, too
        end.handlers = start.handlers
        end.depth = target.depth + 1
        end.set_term(Jump(target))
    for block, position in ends:
        if block is not end:
            del block.ops[position:]
            block.set_term(Jump(end))
            if not block.ops:
                for pred in list(block.preds):
                    pred.retarget(block, end)
