"""Make the protected regions single-entry: each gets one Guarded block through which it is entered."""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional, Tuple

from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, End, Graph, Guarded, Jump, Simple
from depyf.decompiler.structure.except_clauses import clause_ends, merge_clause_ends
from depyf.decompiler.structure.region_tree import Clause
from depyf.decompiler.undo import Region, add_members

# Ops that cannot raise: a return made of these may be said inside the region that it leaves.
SILENT = frozenset({
    "CONST", "LOAD_LOCAL", "POP", "SWAP", "COPY", "RETURN", "POP_EXCEPT", "BUILD_TUPLE", "LOAD_CLOSURE",
})  # fmt: skip

# A value that a region returns is computed inside it. (Reading a local can raise.)
RETURNING = frozenset({"CONST", "POP", "SWAP", "COPY", "RETURN", "POP_EXCEPT"})


def made_of(ops: List[Op], kinds: FrozenSet[str]) -> bool:
    """Whether the ops are of these kinds only, but for `e = None; del e` at the end of an `except` clause."""
    position = 0
    while position < len(ops):
        three = ops[position : position + 3]
        if len(three) == 3 and three[0].kind == "CONST" and three[0].arg is None and three[1].kind.startswith("STORE_"):
            if three[2].kind == three[1].kind.replace("STORE", "DELETE") and three[1].arg == three[2].arg:
                position += 3
                continue
        if three[0].kind not in kinds:
            return False
        position += 1
    return True


def draw_returns_in(graph: Graph) -> None:
    """A return that is reached only from inside a region belongs to it, though the compiler put it outside."""
    work = [block for block in graph.blocks if isinstance(block.term, End) and block.ops]
    while work:
        block = work.pop()
        if not block.preds or block.ops[-1].kind != "RETURN" or not made_of(block.ops, RETURNING):
            continue
        around = _common_regions(block.preds)
        if len(around) > len(block.regions):
            block.regions = around
        before = block.preds[0]
        if len(block.preds) == 1 and isinstance(before.term, Jump) and before.regions == block.regions:
            if before.ops and made_of(before.ops, RETURNING):
                before.ops.extend(block.ops)
                before.set_term(End())
                work.append(before)


def _common_regions(blocks: List[Block]) -> Tuple[Region, ...]:
    """The regions around all of the blocks."""
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


def split_block(graph: Graph, block: Block, position: int) -> Block:
    """Cut a block in two; returns the second part."""
    rest = graph.new_block(block.ops[position].offset if position < len(block.ops) else block.offset, block.handler)
    rest.line = block.line
    rest.regions = block.regions
    rest.handlers = block.handlers
    rest.loops = block.loops
    rest.ops, block.ops = block.ops[position:], block.ops[:position]
    for target in block.successors():
        target.preds.remove(block)
        target.preds.append(rest)
    rest.term, block.term = block.term, Jump(rest)
    rest.preds.append(block)
    if isinstance(rest.term, Guarded):
        rest.term.region.guard = rest
    return rest


def read_clauses(graph: Graph, region: Region) -> List[Clause]:
    """The `except` clauses of a region. The blocks that test the types are used up; bodies start clean."""
    block = region.entry
    if not block.ops or block.ops[0].kind != "PUSH_EXC_INFO":
        raise Unstructured("a handler does not begin as one")
    clauses: List[Clause] = []
    ops = block.ops[1:]
    while True:
        if ops and ops[0].kind == "POP":
            body = split_block(graph, block, len(block.ops) - len(ops) + 1)
            body.depth = region.entry.depth
            merge_clause_ends(graph, body)
            clauses.append(Clause(None, None, body, block.offset))
            return clauses
        if ops and ops[0].kind == "RERAISE" and (len(ops) == 1 or region.is_star):
            return clauses  # what may come after it is no code, see `undo_exception_groups`
        term = block.term
        if not ops or ops[-1].kind != "CHECK_EXC_MATCH" or not isinstance(term, Branch):
            raise Unstructured("an except clause does not test its type")
        if not isinstance(term.test, Simple) or term.test.kind != "true" or term.test.negate:
            raise Unstructured("an except clause tests more than its type")
        match = term.true
        if len(match.preds) != 1 or not match.ops:
            raise Unstructured("an except clause is entered from elsewhere")
        first = match.ops[0]
        if not (first.kind == "POP" or first.kind in STORES):
            raise Unstructured("an except clause does not take its exception")
        del match.ops[0]
        match.depth -= 1
        name = None if first.kind == "POP" else first
        clauses.append(Clause(ops[:-1], name, match, block.offset))
        merge_clause_ends(graph, match)
        if name is not None:
            strip_unbinding(match, name)
        block = term.false
        if len(block.preds) != 1:
            raise Unstructured("except clauses share a test")
        ops = block.ops


def strip_unbinding(start: Block, name: Op) -> None:
    """Remove `e = None; del e` where control leaves the clause that bound `e`: `except E as e` implies it."""
    for block, position in list(clause_ends(start)):
        _strip_at(block, position + 1, name)


def _strip_at(block: Block, position: int, name: Op) -> None:
    following = block.ops[position : position + 3]
    store, delete = name.kind, name.kind.replace("STORE", "DELETE")
    if [op.kind for op in following] != ["CONST", store, delete] or following[0].arg is not None:
        raise Unstructured("the variable of an except clause is not unbound at its end")
    if any(op.arg != name.arg for op in following[1:]):
        raise Unstructured("the variable of an except clause is not unbound at its end")
    del block.ops[position : position + 3]


def after_with(graph: Graph, region: Region) -> Tuple[bool, Block]:
    """(is it async, where control goes when the exit method swallowed the exception) of a `with` region."""
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
    after = split_block(graph, swallowed, 4)
    after.depth = swallowed.depth - 4
    after.handlers = swallowed.handlers[:-1]
    return is_async, after
