"""The `except` clauses of a handler: their types, their bodies, and where control leaves them."""

from __future__ import annotations

from typing import Dict, Iterator, List, Set, Tuple

from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block, Branch, Graph, Guarded, Jump, Simple
from depyf.decompiler.flow.regions import Region
from depyf.decompiler.structure.region_tree import Clause

UNBINDING = 3  # `e = None; del e`


def read_clauses(graph: Graph, region: Region) -> List[Clause]:
    """Return the `except` clauses of a region. The blocks that test the types are used up; bodies start clean."""
    block = region.entry
    if not block.ops or block.ops[0].kind != "PUSH_EXC_INFO":
        raise Unstructured("a handler does not begin as one")
    clauses: List[Clause] = []
    ops = block.ops[1:]
    while True:
        if ops and ops[0].kind == "POP":
            body = graph.split(block, len(block.ops) - len(ops) + 1)
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
    """Remove the unbinding behind the POP_EXCEPT before `position`; or before it, as 3.8 has it at the normal end.

    3.7 has it there at every end; a value to be returned is then moved below what POP_EXCEPT takes.
    """
    if _unbinds(block.ops[position : position + UNBINDING], name):
        del block.ops[position : position + UNBINDING]
        return
    moves = [(op.kind, op.arg) for op in block.ops[max(position - 2, 0) : position - 1]] == [("SWAP", 2)]
    first = position - 1 - moves - UNBINDING
    if first >= 0 and _unbinds(block.ops[first : first + UNBINDING], name):
        del block.ops[first : first + UNBINDING]
        return
    before = list(block.preds) if position == 1 else []
    if not before or not all(isinstance(one.term, Jump) and _unbinds(one.ops[-UNBINDING:], name) for one in before):
        raise Unstructured("the variable of an except clause is not unbound at its end")
    for one in before:
        del one.ops[-UNBINDING:]


def _unbinds(ops: List[Op], name: Op) -> bool:
    store, delete = name.kind, name.kind.replace("STORE", "DELETE")
    if [op.kind for op in ops] != ["CONST", store, delete] or ops[0].arg is not None:
        return False
    return all(op.arg == name.arg for op in ops[1:])


def clause_ends(start: Block) -> Iterator[Tuple[Block, int]]:
    """Yield (block, position of POP_EXCEPT) for each place where control leaves the clause that begins with `start`."""
    seen: Set[Tuple[Block, int]] = set()
    work = [(start, 1)]
    while work:
        block, level = work.pop()
        if (block, level) in seen:
            continue
        block.budget.charge(1 + len(block.ops) // 32)  # handlers in a loop are deeper at each turn
        seen.add((block, level))
        for position, op in enumerate(block.ops):
            if op.kind == "POP_EXCEPT":
                level -= 1
                if level == 0:
                    yield block, position
                    break
        if level == 0:
            continue
        term = block.term
        if isinstance(term, Guarded):
            work.append((term.handler, level + 1))
            work.append((term.body, level))
        else:
            work.extend((target, level) for target in block.successors())


def merge_clause_ends(graph: Graph, start: Block) -> None:
    """Merge the blocks in which control leaves a clause for the same place."""
    groups: Dict[Tuple[Block, int], List[Tuple[Block, int]]] = {}
    for block, position in list(clause_ends(start)):
        length = len(block.ops) - position
        if isinstance(block.term, Jump) and length in (1, 1 + UNBINDING):
            groups.setdefault((block.term.target, length), []).append((block, position))
    for (target, _), ends in groups.items():
        if len(ends) > 1:
            _merge(graph, start, target, ends)


def _merge(graph: Graph, start: Block, target: Block, ends: List[Tuple[Block, int]]) -> None:
    whole = [block for block, position in ends if position == 0]
    if whole:
        end = whole[0]
    else:
        block, position = ends[0]
        end = graph.new_block(block.ops[position].offset, block.handler, block.line)
        end.ops = block.ops[position:]
        end.regions = start.regions  # the statement may be the last in another: then the target is outside of that, too
        end.handlers = start.handlers
        end.depth = target.depth + 1
        end.set_term(Jump(target))
    for block, position in ends:
        if block is not end:
            del block.ops[position:]
            block.set_term(Jump(end))
            if not block.ops:
                for pred in list(block.preds):
                    pred.retarget(block, end)
