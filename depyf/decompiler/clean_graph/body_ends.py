"""The end of a module or class body, which the compiler copies: no statement returns there.

A jump to the end becomes a copy of the end where that is short. Here all copies become one block again, so that
`break`, `else` and the like lead to it as they did in the source.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import Block, End, Graph, Jump

# What a class body stores before it returns.
_LAST_STORES = frozenset({"__classcell__", "__classdictcell__", "__static_attributes__"})


def merge_ends(graph: Graph) -> None:
    """Make one block of all ways in which a module or class body returns."""
    found = []
    for block in graph.blocks:
        if isinstance(block.term, End) and block.ops and block.ops[-1].kind == "RETURN":
            start = _start_of_end(block.ops)
            if start < 0:
                return  # an expression that is evaluated: it returns a value
            found.append((block, start))
    if not found:
        return
    last, start = found[-1]
    offset = last.ops[start].offset
    end = graph.new_block(offset, -1, last.line)
    end.ops = [Op("CONST", None, offset), Op("RETURN", None, offset)]
    for block, start in found:
        _lead_to(block, start, end)
    _merge_clause_ends([block for block, _ in found])


def _merge_clause_ends(blocks: List[Block]) -> None:
    """Make one block of those that only leave the same `except` clause."""
    known: Dict[Tuple[int, ...], Block] = {}
    for block in blocks:
        handlers = {pred.handler for pred in block.preds}
        if len(block.ops) == 1 and block.ops[0].kind == "POP_EXCEPT" and len(handlers) == 1:
            one = known.setdefault((block.handler, *handlers), block)
            if one is not block:
                for pred in list(block.preds):
                    pred.retarget(block, one)


def _lead_to(block: Block, start: int, end: Block) -> None:
    del block.ops[start:]
    block.set_term(Jump(end))


def _start_of_end(ops: List[Op]) -> int:
    """Return where the ops that end the body begin, or -1 if it returns something."""
    before = ops[-2] if len(ops) > 1 else None
    if before is None:
        return -1
    if before.kind == "CONST":
        start = len(ops) - 2 if before.arg is None else -1
    else:
        start = len(ops) - 1
    while start > 1 and ops[start - 1].kind == "STORE_NAME" and ops[start - 1].arg in _LAST_STORES:
        start -= 3 if ops[start - 2].kind == "COPY" else 2
    return start if start < len(ops) - 1 else -1
