"""Dominators of the block graph, with the edges that leave a protected region counted as leaving its guard.

Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm" (2001).
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set

from ..flow import Block, reverse_postorder
from ..undo import Region, Unstructured


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
        self.idom: Dict[Block, Block] = {}
        self._find_dominators(entry)
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

    def _find_dominators(self, entry: Block) -> None:
        preds: Dict[Block, List[Block]] = {block: [] for block in self.order}
        for block in self.order:
            for target in self._edges.get(block, ()):
                preds[target].append(block)
        index, idom = self.index, self.idom
        idom[entry] = entry
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                new = None
                for pred in preds[block]:
                    if pred in idom:
                        new = pred if new is None else self._meet(new, pred, index, idom)
                if new is not None and idom.get(block) is not new:
                    idom[block] = new
                    changed = True

    @staticmethod
    def _meet(a: Block, b: Block, index: Dict[Block, int], idom: Dict[Block, Block]) -> Block:
        while a is not b:
            while index[a] > index[b]:
                a = idom[a]
            while index[b] > index[a]:
                b = idom[b]
        return a

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
        """Whether every way to `b` leads through `a`; not where there is no way to `b` at all."""
        return self._first[a] <= self._first.get(b, -1) <= self._last[a]

    def loop_of(self, block: Block) -> Optional[Block]:
        """The header of the innermost loop that a block is in, or leads out of without a way back."""
        while block not in self._innermost:
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
                    inside.add(block)
                    work.extend(pred for pred in block.preds if pred in self.index)
            self.loops[header] = inside
        for header in sorted(self.loops, key=lambda header: -len(self.loops[header])):
            for block in self.loops[header]:
                self._innermost[block] = header


def _source(block: Block, target: Block) -> Block:
    """Where an edge counts as coming from: the guard of the outermost region whose body or handler it leaves."""
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
