"""Dominators of the block graph, with the edges that leave a protected region counted as leaving its guard.

Georgiadis: "Linear-Time Algorithms for Dominators and Related Problems" (2005), the semi-NCA algorithm. (The simpler
one of Cooper, Harvey and Kennedy is quadratic in the number of breaks of one loop.)
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, reverse_postorder
from depyf.decompiler.flow.regions import Region


class Dominance:
    """Immediate dominators, children in the order of the text, and natural loops."""

    __slots__ = (
        "order", "index", "idom", "children", "loops", "forward_preds", "_edges", "_first", "_last", "_innermost",
    )  # fmt: skip

    def __init__(self, entry: Block) -> None:
        self._edges: Dict[Block, List[Block]] = {}
        blocks = reverse_postorder(entry, Block.successors)
        for block in blocks:
            for target in block.successors():
                self._edges.setdefault(_source(block, target), []).append(target)
        self.order = reverse_postorder(entry, lambda block: self._edges.get(block, ()))
        self.index = {block: number for number, block in enumerate(self.order)}
        self.idom = immediate_dominators(entry, self._edges)
        self.children: Dict[Block, List[Block]] = {block: [] for block in self.order}
        for block in self.order:
            if block is not entry:
                self.children[self.idom[block]].append(block)
        # Of each block: its number in a walk over the tree of dominators, and that of the last block below it.
        self._first: Dict[Block, int] = {}
        self._last: Dict[Block, int] = {}
        self._number(entry)
        self.loops: Dict[Block, Set[Block]] = {}
        self._innermost: Dict[Block, Block] = {}  # block -> the header of the innermost loop that it is in
        self.forward_preds: Dict[Block, int] = {}
        self._find_loops()

    def _number(self, entry: Block) -> None:
        work = [entry]
        while work:
            block = work.pop()
            if block in self._first:  # all below it are numbered
                self._last[block] = len(self._first) - 1
                continue
            self._first[block] = len(self._first)
            work.append(block)
            work.extend(self.children[block])

    def dominates(self, a: Block, b: Block) -> bool:
        """Return whether every way to `b` leads through `a`; not where there is no way to `b` at all."""
        return self._first[a] <= self._first.get(b, -1) <= self._last[a]

    def loop_of(self, block: Block) -> Optional[Block]:
        """Return the header of the innermost loop that a block is in, or leads out of without a way back."""
        while block not in self._innermost:
            block.budget.charge()
            above = self.idom[block]
            if above is block:
                return None
            block = above
        return self._innermost[block]

    def _find_loops(self) -> None:
        latches: Dict[Block, List[Block]] = {}
        for block in self.order:
            for target in block.successors():
                if self.index[target] <= self.index[block] and self.dominates(target, block):
                    latches.setdefault(target, []).append(block)
                else:
                    if self.index[target] <= self.index[_source(block, target)]:
                        raise Unstructured("a loop is entered in two places")
                    self.forward_preds[target] = self.forward_preds.get(target, 0) + 1
        for header, ends in latches.items():
            inside = {header}
            work = list(ends)
            while work:
                block = work.pop()
                if block not in inside:
                    block.budget.charge(1 + len(block.preds) // 8)
                    inside.add(block)
                    work.extend(pred for pred in block.preds if pred in self.index)
            self.loops[header] = inside
        for header in sorted(self.loops, key=lambda header: -len(self.loops[header])):
            for block in self.loops[header]:
                self._innermost[block] = header


def immediate_dominators(entry: Block, edges: Dict[Block, List[Block]]) -> Dict[Block, Block]:
    """Return the last block that every way from the entry leads through, for each block; the entry has itself."""
    order, parent = _preorder(entry, edges)
    number = {block: position for position, block in enumerate(order)}
    preds: List[List[int]] = [[] for _ in order]
    for position, block in enumerate(order):
        for target in edges.get(block, ()):
            preds[number[target]].append(position)
    semi, best, above = list(range(len(order))), list(range(len(order))), [-1] * len(order)
    for this in range(len(order) - 1, 0, -1):
        semi[this] = min(semi[_evaluate(pred, semi, best, above)] for pred in preds[this])
        above[this] = parent[this]
    for this in range(1, len(order)):
        while parent[this] > semi[this]:
            entry.budget.charge()  # hostile graphs take quadratic time
            parent[this] = parent[parent[this]]
    return {block: order[parent[position]] for position, block in enumerate(order)}


def _preorder(entry: Block, edges: Dict[Block, List[Block]]) -> Tuple[List[Block], List[int]]:
    """Return the blocks in the order of a depth-first walk, and the position of the block that each was reached
    from."""
    order, parent, seen = [entry], [0], {entry}
    stack = [(0, iter(edges.get(entry, ())))]
    while stack:
        position, following = stack[-1]
        for target in following:
            if target not in seen:
                seen.add(target)
                stack.append((len(order), iter(edges.get(target, ()))))
                order.append(target)
                parent.append(position)
                break
        else:
            stack.pop()
    return order, parent


def _evaluate(block: int, semi: List[int], best: List[int], above: List[int]) -> int:
    """Return, of the blocks above this one that are done, the one with the least semidominator; paths are
    compressed."""
    if above[block] < 0:
        return block
    path = []
    current = block
    while above[above[current]] >= 0:
        path.append(current)
        current = above[current]
    for step in reversed(path):
        higher = above[step]
        if semi[best[higher]] < semi[best[step]]:
            best[step] = best[higher]
        above[step] = above[higher]
    return best[block]


def _source(block: Block, target: Block) -> Block:
    """Return where an edge counts as coming from: the guard of the outermost region whose body or handler it leaves."""
    left = _first_left(block.regions, target.regions)
    handled = _first_left(block.handlers, target.handlers)
    if handled is not None and (left is None or not _lies_in(handled, left)):
        left = handled
    return left.guard if left is not None and left.guard is not None else block


def _first_left(regions: Sequence[Region], others: Sequence[Region]) -> Optional[Region]:
    for position, region in enumerate(regions):
        if position >= len(others) or others[position] is not region:
            return region
    return None


def _lies_in(region: Optional[Region], outer: Region) -> bool:
    while region is not None and region is not outer:
        region = region.parent
    return region is outer
