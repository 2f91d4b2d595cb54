"""Protected regions: the blocks of one `try` or `with`, and where their exceptions go."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from depyf.decompiler.flow.graph import Block, Graph


class Region:
    """One protected region; the blocks inside name it in `Block.regions`."""

    __slots__ = ("number", "kind", "entry", "parent", "guard", "depth", "is_star")

    def __init__(self, number: int, kind: str, entry: Block, depth: int) -> None:
        self.number = number  # the index of its handler in Program.handlers
        self.kind = kind  # "with", "except", "except*", "finally", "async for", "unknown"
        self.entry = entry  # the handler's first block
        self.parent: Optional[Region] = None
        self.guard: Optional[Block] = None  # the Guarded block through which the region is entered
        self.depth = depth  # stack depth that the handler cuts to
        self.is_star = False  # whether an "except" is an `except*`

    def chain(self) -> Tuple[Region, ...]:
        """Return the regions around this one, outermost first, and itself."""
        return (*(self.parent.chain() if self.parent is not None else ()), self)

    def __repr__(self) -> str:
        return f"Region({self.number} {self.kind} ->B{self.entry.number})"


class ProtectedGraph(NamedTuple):
    """A graph with its protected regions, outer before inner: what `clean_graph` and `fold` return."""

    graph: Graph
    regions: Tuple[Region, ...] = ()


def add_members(members: Dict[Region, List[Block]], blocks: List[Block]) -> None:
    """Add each block to the list of every region that it lies in."""
    for block in blocks:
        for region in block.regions:
            members.setdefault(region, []).append(block)
