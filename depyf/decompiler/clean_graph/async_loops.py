"""`async for` as the loop that it is.

The compiler asks for the next value under a handler of its own, which ends the loop when the exception is
StopAsyncIteration and raises it again otherwise (END_ASYNC_FOR). Here the request becomes a ForIter and the
handler's rest the place where the loop is done: no region is left.
"""

from __future__ import annotations

from typing import List

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, ForIter, Graph, Jump
from depyf.decompiler.flow.regions import Region

REQUEST = ["GET_ANEXT", "CONST", "YIELD_FROM"]


def undo_async_loops(graph: Graph, regions: List[Region]) -> None:
    """Turn the regions of `async for` into loops, and forget them."""
    for region in [region for region in regions if region.kind == "async for"]:
        requests = [block for block in graph.blocks if region in block.regions]
        for block in requests:
            _as_loop_head(graph, block, region)
        regions.remove(region)


def _as_loop_head(graph: Graph, block: Block, region: Region) -> None:
    term = block.term
    if [op.kind for op in block.ops] != REQUEST or not isinstance(term, Jump):
        raise Unstructured("an async for asks for its next value in an unknown way")
    done = region.entry
    if done.ops[:1] and done.ops[0].kind == "END_ASYNC_FOR":
        del done.ops[0]
    block.ops = []
    block.regions = tuple(around for around in block.regions if around is not region)
    block.set_term(ForIter(term.target, done, is_async=True))
