"""Cut a program into blocks, and connect them."""

from __future__ import annotations

from typing import List, Set

from depyf.decompiler.bytecode.microops import BRANCHES, ENDS, OUTSIDE, Program
from depyf.decompiler.bytecode.python_facts import facts_for
from depyf.decompiler.flow.graph import Block, Branch, ForIter, Graph, Jump, Simple
from depyf.decompiler.flow.source_lines import SourceLines

_NOT_PASSED = ENDS | {"TO_BOOL"}


def is_straight(program: Program) -> bool:
    """Return whether control passes through all ops in order and no exception is handled: nothing to structure.

    There is nothing to fold either: 3.13 has a TO_BOOL for a value that is negated or tested.
    """
    if program.handlers:
        return False
    notable = [index for index, op in enumerate(program.ops) if op.target >= 0 or op.kind in _NOT_PASSED]
    return notable == [len(program.ops) - 1] and program.ops[-1].target < 0


def cut_into_blocks(program: Program) -> Graph:
    """Return a graph whose blocks begin at jump targets, handler entries and handler boundaries."""
    ops = program.ops
    handlers = [op.handler for op in ops]
    inner: Set[int] = set()
    if facts_for(program.version).threaded_tests_lose_handlers:
        inner = _cover_tests(program, handlers)
    graph = Graph(program, SourceLines(program.code))
    leaders = {0}
    for handler in program.handlers:
        leaders.add(handler.target)
    for index, op in enumerate(ops):
        if op.target >= 0:
            leaders.add(op.target)
            leaders.add(index + 1)
        elif op.kind in ("RETURN", "RAISE", "RERAISE"):
            leaders.add(index + 1)
        if index and handlers[index] != handlers[index - 1]:
            leaders.add(index)
    leaders.discard(len(ops))
    starts = sorted(leaders)
    for start in starts:
        op = ops[start]
        graph.block_at[start] = graph.new_block(op.offset, handlers[start], graph.lines.get(op.offset, -1))
    graph.entry.set_term(Jump(graph.block_at[0]))
    graph.entry.handler = -1
    for start, end in zip(starts, [*starts[1:], len(ops)]):
        _fill(graph, graph.block_at[start], start, end, is_inner=end - 1 in inner)
        graph.block_at[start].is_continue = end - start == 1 and _is_continue(graph, start)
    return graph


def _is_continue(graph: Graph, index: int) -> bool:
    """Return whether an op is a `continue` of the source that begins an `if`: a jump back on a line of its own.

    From 3.12 on compilers also add a jump for a branch that leads back; it is on the line of the branch.
    """
    ops, lines = graph.program.ops, graph.lines
    jump, branch = ops[index], ops[index - 1]
    if jump.kind != "JUMP" or branch.kind not in BRANCHES or not 0 <= jump.target < index:
        return False
    return lines.get(jump.offset, -1) != lines.get(branch.offset, -1)


def _cover_tests(program: Program, handlers: List[int]) -> Set[int]:
    """Give tests that the compiler left without a handler the one of what follows: they are in one expression.

    Return where their branches are.
    """
    ops = program.ops
    found: Set[int] = set()
    for index, op in enumerate(ops[:-3]):
        if op.kind == "COPY" and op.arg == 1 and handlers[index] < 0:
            branch = index + (2 if ops[index + 1].kind == "TO_BOOL" else 1)
            is_left_out = handlers[branch + 1] >= 0 or ops[index + 1].arg is OUTSIDE
            if ops[branch].kind in ("BRANCH_TRUE", "BRANCH_FALSE") and is_left_out and max(handlers[index:branch]) < 0:
                handlers[index : branch + 1] = [handlers[branch + 1]] * (branch + 1 - index)
                found.add(branch)
    return found


def _fill(graph: Graph, block: Block, start: int, end: int, *, is_inner: bool) -> None:
    """Give a block its ops and terminator."""
    ops = graph.program.ops
    last = ops[end - 1]
    block.ops = list(ops[start:end])
    kind = last.kind
    if kind in ("RETURN", "RAISE", "RERAISE"):
        return
    if kind == "JUMP":
        block.ops.pop()
        block.set_term(Jump(graph.block_at[last.target]))
    elif kind in BRANCHES:
        block.ops.pop()
        there, after = graph.block_at[last.target], graph.block_at[end]
        test = Simple("none" if "NONE" in kind else "true", is_inner=is_inner)
        jumps_if_true = kind in ("BRANCH_TRUE", "BRANCH_NONE")
        block.set_term(Branch(test, there, after) if jumps_if_true else Branch(test, after, there))
    elif kind == "FOR_ITER":
        block.ops.pop()
        block.set_term(ForIter(graph.block_at[end], graph.block_at[last.target]))
    else:
        block.set_term(Jump(graph.block_at[end]))
