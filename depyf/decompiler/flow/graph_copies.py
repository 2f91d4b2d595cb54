"""Copies of graphs: a stage rewrites a copy, so that the value it was given stays as it was.

Blocks, edges, tests and regions are copied. Micro-ops are shared: no stage changes one.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Tuple

from depyf.decompiler.flow.graph import (
    Block,
    Both,
    Branch,
    Case,
    Choice,
    End,
    ForIter,
    Graph,
    Guarded,
    Jump,
    Keep,
    Simple,
    Terminator,
    Test,
)
from depyf.decompiler.flow.regions import ProtectedGraph, Region


def copied_graph(graph: Graph) -> Graph:
    """Return a copy of a graph that has no protected regions yet."""
    return copied(ProtectedGraph(graph)).graph


def copied(protected: ProtectedGraph) -> ProtectedGraph:
    """Return a copy of a graph and of its regions."""
    return _Copy(protected).result


class _Copy:
    """One copy in the making."""

    def __init__(self, protected: ProtectedGraph) -> None:
        graph = protected.graph
        self.blocks: Dict[Block, Block] = {}
        self.regions: Dict[Region, Region] = {}
        self.chains: Dict[Tuple[Region, ...], Tuple[Region, ...]] = {}
        self.work: List[Tuple[Block, Block]] = []  # blocks whose edges are to be copied
        other = Graph.__new__(Graph)
        other.program, other.lines, other.entry_depth = graph.program, graph.lines, graph.entry_depth
        other.blocks = [self.block(block) for block in graph.blocks]
        other.entry = self.blocks[graph.entry]
        other.block_at = {place: self.block(block) for place, block in graph.block_at.items()}
        regions = tuple([self.region(region) for region in protected.regions])
        for block, new in self.work:  # grows where an edge leads to a block that the graph does not list
            self.connect(block, new)
        self.result = ProtectedGraph(other, regions)

    def block(self, block: Block) -> Block:
        """Return the copy of a block."""
        found = self.blocks.get(block)
        if found is None:
            found = self.blocks[block] = Block(block.number, block.offset, block.handler, block.line)
            found.ops = list(block.ops)
            found.depth = block.depth
            self.work.append((block, found))
        return found

    def connect(self, block: Block, new: Block) -> None:
        """Give a copied block its edges and the regions that it lies in."""
        new.preds = [self.block(pred) for pred in block.preds]
        term = block.term
        if type(term) is Jump:
            new.term = Jump(self.block(term.target))
        elif type(term) is not End:
            new.term = _TERMS[type(term)](self, term)
        if block.regions:
            new.regions = self.chain(block.regions)
        if block.handlers:
            new.handlers = self.chain(block.handlers)
        if block.loops:
            new.loops = tuple([self.block(header) for header in block.loops])

    def chain(self, regions: Tuple[Region, ...]) -> Tuple[Region, ...]:
        """Copy the regions around a block; equal tuples stay one object."""
        found = self.chains.get(regions)
        if found is None:
            found = self.chains[regions] = tuple([self.region(region) for region in regions])
        return found

    def region(self, region: Region) -> Region:
        """Return the copy of a region."""
        found = self.regions.get(region)
        if found is None:
            found = Region(region.number, region.kind, self.block(region.entry), region.depth)
            self.regions[region] = found
            found.is_star = region.is_star
            found.parent = None if region.parent is None else self.region(region.parent)
            found.guard = None if region.guard is None else self.block(region.guard)
        return found


def _copied_test(test: Test) -> Test:
    """Copy a test as far as a later stage may change it: its outcome, and the end of a chain of `and` or `or`."""
    if isinstance(test, Simple):
        return Simple(test.kind, test.negate)
    if isinstance(test, Both):
        return Both(test.op, test.first, list(test.rest), test.negate)
    return Choice(test.first, test.then, test.orelse, test.negate)


def _branch(copy: _Copy, term: Branch) -> Branch:
    return Branch(_copied_test(term.test), copy.block(term.true), copy.block(term.false))


def _keep(copy: _Copy, term: Keep) -> Keep:
    return Keep(_copied_test(term.test), term.when, copy.block(term.keep), copy.block(term.drop))


def _for_iter(copy: _Copy, term: ForIter) -> ForIter:
    return ForIter(copy.block(term.body), copy.block(term.done), term.is_async)


def _case(copy: _Copy, term: Case) -> Case:
    return Case(term.pattern, term.guard, term.keeps, copy.block(term.body), copy.block(term.otherwise))


def _guarded(copy: _Copy, term: Guarded) -> Guarded:
    return Guarded(copy.region(term.region), copy.block(term.body), copy.block(term.handler))


_TERMS: Dict[type, Callable[..., Terminator]] = {
    Branch: _branch, Keep: _keep, ForIter: _for_iter, Case: _case, Guarded: _guarded,
}  # fmt: skip
