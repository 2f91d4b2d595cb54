"""How the bodies of `finally` end: what was caught is raised again, or they leave for elsewhere."""

from __future__ import annotations

from typing import Dict, List, Optional

from depyf.decompiler.flow.graph import Block, Graph
from depyf.decompiler.flow.regions import Region


def ends_of_finals(graph: Graph) -> Dict[Region, Block]:
    """Return the end of each `finally` body, in a block of its own: what is caught is raised again there."""
    found: Dict[Region, Block] = {}
    for block in list(graph.blocks):
        region: Optional[Region] = block.handlers[-1] if block.handlers else None
        if region is None or region.kind != "finally" or not block.ops or block.ops[-1].kind != "RERAISE":
            continue
        if len(block.ops) > 1 or block is region.entry:
            depth = block.depth
            block = graph.split(block, len(block.ops) - 1)
            block.depth = depth  # nothing asks for more than that it is no less than that of a loop around
        found[region] = block
    return found


def exits_of_finals(graph: Graph) -> Dict[Region, List[Block]]:
    """Return where control goes when the body of a `finally` leaves by itself, and drops what was caught."""
    found: Dict[Region, List[Block]] = {}
    for block in graph.blocks:
        region: Optional[Region] = block.handlers[-1] if block.handlers else None
        if region is None or region.kind != "finally":
            continue
        for target in block.successors():
            if region not in target.handlers and target not in found.setdefault(region, []):
                found[region].append(target)
    return found
