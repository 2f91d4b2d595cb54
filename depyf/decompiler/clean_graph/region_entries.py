"""Make the protected regions single-entry: each gets one Guarded block through which it is entered."""

from __future__ import annotations

import itertools
from typing import Dict, List, Tuple

from depyf.decompiler.analysis.nonraising_ops import RETURNING, made_of
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, End, Graph, Guarded, Jump
from depyf.decompiler.flow.regions import Region, add_members


def draw_returns_in(graph: Graph) -> None:
    """Move a return that is reached only from inside a region into it, where the compiler put it outside."""
    work = [block for block in graph.blocks if isinstance(block.term, End) and block.ops]
    returns_stay = facts_for(graph.program.version).returns_stay_in_place
    while work:
        block = work.pop()
        block.budget.charge(1 + len(block.ops) // 8)
        if not block.preds or block.ops[-1].kind != "RETURN" or not made_of(block.ops, RETURNING):
            continue
        around = _common_regions(block.preds)
        if returns_stay:
            around = around[: len(block.regions)] + _written_around(block, around[len(block.regions) :])
        if len(around) > len(block.regions):
            block.regions = around
        before = block.preds[0]
        if len(block.preds) == 1 and isinstance(before.term, Jump) and before.regions == block.regions:
            if before.ops and made_of(before.ops, RETURNING):
                before.ops.extend(block.ops)
                before.set_term(End())
                work.append(before)


def _written_around(block: Block, regions: Tuple[Region, ...]) -> Tuple[Region, ...]:
    """Return those of the regions, inner ones last, whose handlers come behind the block: it is written inside."""
    return tuple(itertools.takewhile(lambda region: region.entry.offset > block.ops[-1].offset, regions))


def _common_regions(blocks: List[Block]) -> Tuple[Region, ...]:
    """Return the regions around all of the blocks."""
    common: Tuple[Region, ...] = blocks[0].regions
    for block in blocks[1:]:
        shared = 0
        while shared < min(len(common), len(block.regions)) and common[shared] is block.regions[shared]:
            shared += 1
        common = common[:shared]
    return common


def insert_guards(graph: Graph, regions: List[Region]) -> None:
    """Put a Guarded block before each region that is in use; outer regions first."""
    members: Dict[Region, List[Block]] = {}
    add_members(members, [block for block in graph.blocks if block.number >= 0])
    for region in regions:
        inside = members.get(region, ())
        entries = [block for block in inside if any(region not in pred.regions for pred in block.preds)]
        if not entries:
            continue
        if len(entries) > 1:
            raise Unstructured(f"a {region.kind} block is entered in {len(entries)} places")
        entry = entries[0]
        guard = graph.new_block(entry.offset, -1, entry.line)
        guard.regions = entry.regions[: entry.regions.index(region)]
        outside = [pred for pred in entry.preds if region not in pred.regions]
        # A loop around the statement: `continue` inside goes there, and not round a loop within.
        backward = [pred for pred in outside if pred.offset >= entry.offset and not isinstance(pred.term, Guarded)]
        is_in_loop = region.kind == "except" and bool(backward)
        for pred in list(entry.preds) if is_in_loop else outside:
            if pred is not entry or entry.ops:  # an empty loop can only be interrupted, and that inside
                pred.retarget(entry, guard)
        guard.set_term(Guarded(region, entry, region.entry))
        region.guard = guard
