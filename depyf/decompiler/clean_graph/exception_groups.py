"""`except*` as `except`: its handler is rewritten to the shape of an ordinary one.

The handler of `try` ... `except*` keeps a list of what the clauses raise: each clause lies under a region of its own
that appends to it, every clause is tried in turn, and in the end PREP_RERAISE_STAR raises what is left. A clause may
not be left by break, continue or return, so the keyword implies all that.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, Graph, Jump, Simple, threaded
from depyf.decompiler.flow.regions import Region, add_members

# What the handler begins with, before it tests the first type. The list lies below the exception.
SETUPS = (["PUSH_EXC_INFO", "COPY", "BUILD_LIST", "SWAP"], ["PUSH_EXC_INFO", "BUILD_LIST", "COPY"])


class _Clause(NamedTuple):
    start: Block  # begins to compute the type
    test: Block  # ends in the branch on the type
    type_ops: List[Op]
    match: Block  # takes the exception
    region: Optional[Region]  # what lies around the body


def undo_exception_groups(graph: Graph, regions: List[Region]) -> None:
    """Give the handlers of `except*` the shape of those of `except`; their regions remember what they were."""
    groups = [region for region in regions if region.kind == "except*"]
    members: Dict[Region, List[Block]] = {}
    known = 0
    for region in groups:
        clauses, after = _read(graph, region)
        for clause in clauses:
            add_members(members, graph.blocks[known:])
            known = len(graph.blocks)
            _rewrite_exits(graph, clause, after, members)
            if clause.region is not None:
                if clause.region not in regions:
                    raise Unstructured("two clauses of except* that are protected alike")
                graph.program.budget.charge(len(regions) // 8)
                regions.remove(clause.region)
                for inner in regions:
                    if inner.parent is clause.region:
                        inner.parent = clause.region.parent
        _rewrite_tests(graph, region, clauses, after)
        region.kind, region.is_star = "except", True


def _read(graph: Graph, region: Region) -> Tuple[List[_Clause], Block]:
    """Return the clauses, and where control goes after them."""
    block = region.entry
    begins = [setup for setup in SETUPS if [op.kind for op in block.ops[: len(setup)]] == setup]
    if not begins:
        raise Unstructured("an except* of an unknown form")
    clauses: List[_Clause] = []
    del block.ops[: len(begins[0])]
    while True:
        block.budget.charge()  # what no clause matched may lead back to a test
        start, block = block, _end_of_type(block)
        ops = block.ops
        term = block.term
        if not isinstance(term, Branch) or not isinstance(term.test, Simple) or term.test.kind != "none":
            raise Unstructured("an except* of an unknown form")
        kinds = [op.kind for op in ops]
        nothing, something = (term.false, term.true) if term.test.negate else (term.true, term.false)
        if kinds[-2:] == ["PREP_RERAISE_STAR", "COPY"]:
            return clauses, _after(graph, nothing)
        if kinds[-2:] != ["CHECK_EG_MATCH", "COPY"]:
            raise Unstructured("an except* clause does not test its type")
        clauses.append(_Clause(start, block, ops[:-2], something, _region_of_body(something, region)))
        if [op.kind for op in nothing.ops] not in (["POP"], ["POP", "LIST_APPEND"]):
            raise Unstructured("an except* clause that does not match does more than continue")
        block = _past_jumps(nothing)


def _end_of_type(start: Block) -> Block:
    """Return the block that tests the type which is computed from `start` on: by several blocks if it is `x or y`."""
    seen, work = {start}, [start]
    while work:
        block = work.pop()
        if any(op.kind in ("CHECK_EG_MATCH", "PREP_RERAISE_STAR") for op in block.ops):
            return block
        for target in block.successors():
            if target not in seen:
                seen.add(target)
                work.append(target)
    raise Unstructured("an except* of an unknown form")


def _past_jumps(block: Block) -> Block:
    """Return the block after this one, empty ones aside."""
    following = threaded(block.term.target) if isinstance(block.term, Jump) else block
    if following is block or not following.ops:
        raise Unstructured("an except* of an unknown form")
    return following


def _after(graph: Graph, block: Block) -> Block:
    """Return what follows the POP, POP_EXCEPT at the end of the handler."""
    if [op.kind for op in block.ops] == ["POP"]:
        block = _past_jumps(block)
        position = 1
    else:
        position = 2
    if position > len(block.ops) or block.ops[position - 1].kind != "POP_EXCEPT":
        raise Unstructured("an except* does not end as usual")
    after = graph.new_block(block.offset, block.handler, block.line)
    after.regions = block.regions
    after.ops = block.ops[position:]
    term, block.ops = block.term, block.ops[:position]
    block.set_term(Jump(after))
    after.set_term(term)
    return after


def _region_of_body(match: Block, region: Region) -> Optional[Region]:
    """Return the region that collects what the body of a clause raises; None if the body is empty."""
    block = match
    while isinstance(block.term, Jump) and block.regions == region.entry.regions and block is match:
        block = block.term.target
    inner: Tuple[Region, ...] = block.regions[len(region.entry.regions) :]
    if not inner:
        return None
    kinds = [op.kind for op in inner[0].entry.ops]
    if kinds[-2:] != ["LIST_APPEND", "POP"] and kinds[-3:] != ["LIST_APPEND", "POP", "LIST_APPEND"]:
        raise Unstructured("the body of an except* clause is not protected as usual")
    return inner[0]


def _rewrite_exits(graph: Graph, clause: _Clause, after: Block, members: Dict[Region, List[Block]]) -> None:
    """Lead the ways out of a clause's body to what comes after the statement. `members`: the blocks of each region."""
    match, region = clause.match, clause.region
    if not match.ops:
        raise Unstructured("an except* clause that neither names nor drops what it caught")
    name = match.ops[0]
    leave = graph.new_block(match.offset, match.handler, match.line)
    leave.regions = match.regions
    leave.ops = [Op("POP_EXCEPT", None, match.offset)]
    if name.kind != "POP":
        unbind = name.kind.replace("STORE", "DELETE")
        values = [("CONST", None), (name.kind, name.arg), (unbind, name.arg)]
        leave.ops += [Op(kind, value, match.offset) for kind, value in values]
    leave.set_term(Jump(after))
    if region is None:
        match.ops = [name]
        match.set_term(Jump(leave))
        return
    inside = members.pop(region, [])
    inside += [leave] if region in leave.regions else []
    for block in inside:
        for target in block.successors():
            if region not in target.regions:
                block.retarget(target, leave)
    for block in inside:
        if block.handler == region.number:
            block.handler = match.handler
        block.regions = tuple(around for around in block.regions if around is not region)


def _rewrite_tests(graph: Graph, region: Region, clauses: List[_Clause], after: Block) -> None:
    """Make the tests those of `except` clauses.

    When all clauses have been tried nothing may be left to raise, even if each of them raises: so there is a way
    from there to what comes after the statement.
    """
    entry = region.entry
    last, leave = (graph.new_block(entry.offset, entry.handler, entry.line) for _ in range(2))
    last.regions = leave.regions = entry.regions
    last.ops = [Op("RERAISE", 0, entry.offset)]
    leave.ops = [Op("POP_EXCEPT", None, entry.offset)]
    last.set_term(Jump(leave))
    leave.set_term(Jump(after))
    following = last
    for clause in reversed(clauses):
        check = Op("CHECK_EXC_MATCH", None, clause.test.offset)
        clause.test.ops = [*clause.type_ops, check]
        clause.test.set_term(Branch(Simple("true"), clause.match, following))
        following = clause.start
    region.entry.ops.insert(0, Op("PUSH_EXC_INFO", None, region.entry.offset))
