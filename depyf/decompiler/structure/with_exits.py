"""The two exits of a `with`, and flag variables where its normal exit and its swallowed-exception exit differ.

Dynamo writes such functions: they resume in the middle of several `with` statements, what the user wrote after the
innermost one follows its body, and an exception that is swallowed leaves all of them. No statement of Python makes both
jumps, but a variable can record how the block ended:

    completed = False
    with manager:
        ...
        completed = True
    if completed:
        ...
"""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from depyf.decompiler.analysis.nonraising_ops import SILENT
from depyf.decompiler.bytecode.constant_equality import same_op
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, End, Graph, Jump, Simple, threaded
from depyf.decompiler.flow.regions import Region

Swallowed = Dict[Region, Tuple[bool, Block]]  # is it async, where control goes when the exception is swallowed


def after_with(graph: Graph, region: Region) -> Tuple[bool, Block]:
    """Return (is it async, where control goes when the exit method swallowed the exception) of a `with` region."""
    block = region.entry
    kinds = [op.kind for op in block.ops]
    is_async = kinds == ["PUSH_EXC_INFO", "WITH_EXCEPT_START", "GET_AWAITABLE", "CONST", "YIELD_FROM"]
    term = block.term
    usual = is_async or kinds == ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]
    if not usual or not isinstance(term, Branch):
        raise Unstructured("a with block's handler is not the usual one")
    swallowed: Optional[Block] = term.true
    if [op.kind for op in term.true.ops[:4]] != ["POP", "POP_EXCEPT", "POP", "POP"]:
        raise Unstructured("a with block's handler is not the usual one")
    assert swallowed is not None
    after = graph.split(swallowed, 4)
    after.depth = swallowed.depth - 4
    after.handlers = swallowed.handlers[:-1]
    return is_async, after


def flag_ways_out(graph: Graph, swallowed: Swallowed) -> None:
    """Give a flag to each `with` inside another whose body ends elsewhere: both ways then lead to a test of it."""
    taken: Set[str] = set()
    code = graph.program.code
    for names in (code.co_varnames, code.co_cellvars, code.co_freevars, code.co_names):
        taken.update(names)
    for region, (is_async, target) in list(swallowed.items()):
        elsewhere = _elsewhere(graph, region, target)
        if elsewhere is not None and region.guard is not None and region.guard.regions:
            name = next(name for name in _names() if name not in taken)
            taken.add(name)
            swallowed[region] = is_async, _flagged(graph, region, target, elsewhere, name)


def _names() -> List[str]:
    return ["completed", *(f"completed_{number}" for number in range(1, 1000))]


def _elsewhere(graph: Graph, region: Region, target: Block) -> Optional[Block]:
    """Return the one place that the region is left for, other than where a swallowed exception leads."""
    found: List[Block] = []
    graph.program.budget.charge(len(graph.blocks) // 8)
    for block in graph.blocks:
        if block.number < 0 or region not in block.regions or region in block.handlers:
            continue
        for after in block.successors():
            if region in after.regions or after is region.entry or after in found or _only_leaves(after):
                continue
            if not _are_alike(after, target) and block.preds:
                found.append(after)
    return found[0] if len(found) == 1 and found[0].depth == target.depth else None


def _only_leaves(block: Block) -> bool:
    """Return whether a block does nothing on its way out of the function, or out of all that is around: that is
    `break`."""
    while all(op.kind in SILENT for op in block.ops):
        block.budget.charge()  # an endless loop never leaves
        if isinstance(block.term, End):
            return True
        if not isinstance(block.term, Jump):
            return False
        block = block.term.target
        if not block.regions:
            return True
    return False


def _are_alike(a: Block, b: Block) -> bool:
    a, b = threaded(a), threaded(b)
    if not isinstance(a.term, Jump) or not isinstance(b.term, Jump) or a.term.target is not b.term.target:
        return a is b
    return len(a.ops) == len(b.ops) and all(map(same_op, a.ops, b.ops))


def _flagged(graph: Graph, region: Region, target: Block, elsewhere: Block, name: str) -> Block:
    """Put the flag in; returns the block that tests it."""
    guard = region.guard
    assert guard is not None
    guard.ops[:0] = [Op("CONST", False, guard.offset), Op("STORE_LOCAL", name, guard.offset)]
    test = _like(graph, target)
    sets = _like(graph, elsewhere)
    sets.regions = (*guard.regions, region)
    sets.ops = [Op("CONST", True, elsewhere.offset), Op("STORE_LOCAL", name, elsewhere.offset)]
    for block in [block for block in elsewhere.preds if region in block.regions]:
        block.retarget(elsewhere, sets)
    for block in list(target.preds):
        block.retarget(target, test)
    graph.program.budget.charge(len(graph.blocks) // 8)
    for block in [block for block in graph.blocks if region in block.regions]:
        for after in block.successors():
            if region not in after.regions and after is not test and _are_alike(after, target):
                block.retarget(after, test)
    sets.set_term(Jump(test))
    test.ops = [Op("LOAD_LOCAL", name, target.offset)]
    test.set_term(Branch(Simple("true"), elsewhere, target))
    return test


def _like(graph: Graph, block: Block) -> Block:
    """Return a new block that lies where another does."""
    new = graph.new_block(block.offset, block.handler, block.line)
    new.depth, new.regions, new.handlers, new.loops = block.depth, block.regions, block.handlers, block.loops
    return new
