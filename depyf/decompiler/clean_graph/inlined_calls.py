"""Undo the inlining of `all`, `any`, `tuple`, `list` and `set` over a generator expression: it becomes the call again.

The compiler (3.14, of lists and sets 3.15: Python/codegen.c) writes the loop into the function,
for the case that the name means what it usually does, and the call behind it, for all others:

    LOAD_GLOBAL all; COPY 1; CONST all; IS; BRANCH_FALSE ->call
    POP; the generator; a loop over it that ends with True or False; JUMP ->after
    call: PUSH_NULL; the generator; CALL 1
    after:
"""

from __future__ import annotations

from depyf.decompiler.flow.graph import Block, Branch, Graph, Jump, Simple

_INLINED = (all, any, tuple, list, set)


def undo_inlined_calls(graph: Graph) -> None:
    """Leave only the call of the two ways to compute the same value."""
    found = [block for block in graph.blocks if _chooses(block)]
    for block in found:
        assert isinstance(block.term, Branch)
        del block.ops[-3:]
        block.set_term(Jump(block.term.false))
    if found:
        graph.drop_unreachable()


def _chooses(block: Block) -> bool:
    """Return whether a block ends with the choice between the loop and the call."""
    term, last = block.term, block.ops[-3:]
    if not isinstance(term, Branch) or [op.kind for op in last] != ["COPY", "CONST", "IS"]:
        return False
    is_test = isinstance(term.test, Simple) and term.test.kind == "true" and not term.test.negate
    is_plain = last[0].arg == 1 and not last[2].arg and any(last[1].arg is one for one in _INLINED)
    loop, call = term.true.ops, term.false.ops
    return (
        is_test and is_plain and loop[:1] != [] and loop[0].kind == "POP" and bool(call) and call[0].kind == "PUSH_NULL"
    )
