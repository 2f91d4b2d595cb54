"""Protected regions: which blocks lie under which `try`, `with` or `async for`, and what kind each is.

The exception table names only the innermost handler of an instruction. The nesting is found again from the
handlers themselves: what protects a handler's own code protects the statement that the handler belongs to.
Two handlers have no statement of their own and are skipped: the clean-up that the compiler lays under
every `except` and `finally` (COPY 3, POP_EXCEPT, RERAISE), and the one that unbinds `e` of `except E as e`.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, End, Graph
from depyf.decompiler.flow.regions import Region
from depyf.decompiler.flow.stack_depths import find_depths

MOST_NESTED = 100  # CPython's compiler accepts 20 (CO_MAXBLOCKS)


def is_cleanup(block: Block) -> bool:
    """Return whether a handler is the one under every `except` and `finally` clause, which restores the exception
    state."""
    return [op.kind for op in block.ops] == ["COPY", "POP_EXCEPT", "RERAISE"]


def is_name_cleanup(block: Block) -> bool:
    """Return whether a handler is the one that unbinds `e` when the body of `except E as e` raises."""
    kinds = [op.kind for op in block.ops]
    return (
        len(kinds) == 4
        and kinds[0] == "CONST"
        and kinds[1].startswith("STORE_")
        and kinds[2].startswith("DELETE_")
        and kinds[3] == "RERAISE"
        and block.ops[0].arg is None
    )


def assign_regions(graph: Graph) -> List[Region]:
    """Find the regions, give each block the tuple of those around it, and return them, outer before inner."""
    program = graph.program
    regions: Dict[int, Region] = {}
    entries = graph.handler_entries()

    check_nesting(entries)
    known = {-1: -1}

    def effective(handler: int) -> int:
        path: List[int] = []
        while handler not in known:
            block = entries[handler]
            if not isinstance(block.term, End) or not (is_cleanup(block) or is_name_cleanup(block)):
                known[handler] = handler
                break
            path.append(handler)
            handler = block.handler
        found = known[handler]
        known.update(dict.fromkeys(path, found))
        return found

    for number, entry in entries.items():
        if effective(number) == number:
            regions[number] = Region(number, kind_of(entry), entry, program.handlers[number].depth)
    chains: Dict[int, Tuple[Region, ...]] = {-1: ()}

    def chain(handler: int) -> Tuple[Region, ...]:
        path: List[int] = []
        while handler not in chains:
            path.append(handler)
            handler = effective(regions[handler].entry.handler)
        for number in reversed(path):
            parent = chains[handler]
            if len(parent) >= MOST_NESTED:
                raise Unstructured(f"more than {MOST_NESTED} statements with handlers are nested")
            regions[number].parent = parent[-1] if parent else None
            chains[number] = (*parent, regions[number])
            handler = number
        return chains[handler]

    for block in graph.blocks:
        block.regions = chain(effective(block.handler))
    _mark_finals(graph)

    counts = {-1: 0}

    def inside_handlers(region: Region) -> int:
        """Return how many handlers' own clean-up a region lies under: that of the clauses that it is in."""
        path: List[int] = []
        handler = region.entry.handler
        while handler not in counts:
            path.append(handler)
            handler = entries[handler].handler
        for number in reversed(path):
            counts[number] = counts[handler] + (number not in regions)
            handler = number
        return counts[handler]

    # The last is undone first. A `finally` body is compared with its copies before what is inside them is changed:
    # so it comes after what is in its handler, and after what is in its copies, which lie before the handler.
    return sorted(
        regions.values(),
        key=lambda region: (
            len(chain(region.number)),
            -inside_handlers(region),
            program.handlers[region.number].target,
        ),
    )


def check_nesting(entries: Dict[int, Block]) -> None:
    """Raise Unstructured where handlers protect each other in a circle: no statement does that."""
    known = {-1}
    for number in entries:
        path: List[int] = []
        while number not in known:
            known.add(number)
            path.append(number)
            number = entries[number].handler
        if number in path:
            raise Unstructured("handlers protect each other in a circle")


def _mark_finals(graph: Graph) -> None:
    """Mark `finally: break`, whose handler is that of `except: break`: only a `finally` drops a value to be
    returned."""
    find_depths(graph)
    for block in graph.blocks:
        for target in block.successors():
            if target.ops and target.ops[0].kind == "POP" and len(target.regions) < len(block.regions):
                for region in block.regions[len(target.regions) :]:
                    if region.kind == "except" and [op.kind for op in region.entry.ops[:2]] == DROPS_IT:
                        if target.depth > region.depth:
                            region.kind = "finally"


DROPS_IT = ["PUSH_EXC_INFO", "POP"]


def kind_of(entry: Block) -> str:
    """Return what statement a handler belongs to, from how it begins."""
    kinds = [op.kind for op in entry.ops[:3]]
    if kinds[:1] == ["END_ASYNC_FOR"]:
        return "async for"
    if kinds[:2] == ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]:
        return "with"
    for op in entry.ops[1:]:
        if op.kind == "CHECK_EXC_MATCH":
            return "except"
        if op.kind == "CHECK_EG_MATCH":
            return "except*"
    if kinds[:2] == DROPS_IT:
        return "except"
    if kinds[:1] == ["PUSH_EXC_INFO"]:
        return _kind_of_long_entry(entry)
    return "unknown"


def _kind_of_long_entry(entry: Block) -> str:
    """Distinguish an `except` whose type is computed by several blocks from a `finally`, which its first one
    resembles. (From the body of a `finally` only an exception leads to the tests of an `except`.)"""
    seen, work = {entry}, [entry]
    while work:
        block = work.pop()
        for op in block.ops:
            if op.kind in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
                return "except" if op.kind == "CHECK_EXC_MATCH" else "except*"
            if op.kind in ("RERAISE", "POP_EXCEPT"):
                break
        else:
            for target in block.successors():
                if target not in seen:
                    seen.add(target)
                    work.append(target)
    return "finally"
