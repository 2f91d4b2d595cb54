"""Drop the check that begins the functions of annotations, bounds and type aliases: 3.14, PEP 649.

No source spells it: the compiler writes it where such a function is made of an annotation.

    LOAD_LOCAL format; CONST 2; COMPARE >; BRANCH_FALSE ->start; CONST NotImplementedError; RAISE 1
    start: what computes the annotations
"""

from __future__ import annotations

from depyf.decompiler.bytecode.microops import parameters
from depyf.decompiler.flow.graph import Branch, Graph, Jump

_CHECK = [("LOAD_LOCAL", ".format"), ("CONST", 2), ("COMPARE", ">")]
_REFUSAL = [("CONST", NotImplementedError), ("RAISE", 1)]


def drop_format_check(graph: Graph) -> None:
    """Let a function begin behind its check, if it has one."""
    if parameters(graph.program.code) not in (("format",), (".format",)):
        return
    block = graph.entry.term.target if isinstance(graph.entry.term, Jump) else graph.entry
    ops = [(op.kind, ".format" if op.kind == "LOAD_LOCAL" else op.arg) for op in block.ops]
    term = block.term
    if ops == _CHECK and isinstance(term, Branch) and [(op.kind, op.arg) for op in term.true.ops] == _REFUSAL:
        block.ops.clear()
        block.set_term(Jump(term.false))
        graph.drop_unreachable()
