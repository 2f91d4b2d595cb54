"""Flow: a Program -> a control-flow graph of blocks.

Program:  0 LOAD_LOCAL a         Graph:  B1 [LOAD_LOCAL a] Branch true -> B2, false -> B3
          1 BRANCH_FALSE ->4             B2 [CONST 1; RETURN]
          2 CONST 1                      B3 [CONST 2; RETURN]
          3 RETURN
          4 CONST 2
          5 RETURN
"""

from __future__ import annotations

from depyf.decompiler.bytecode.microops import Program
from depyf.decompiler.flow.graph import Graph, thread_jumps
from depyf.decompiler.flow.program_blocks import cut_into_blocks

__all__ = ["build_graph"]


def build_graph(program: Program) -> Graph:
    """Return the control-flow graph of a program.

    Enters: a program as `decode` or `clean_program` returns it; it is not changed. Leaves: blocks of straight-line
    micro-ops, each under one exception handler, and no block that only jumps. The ops are those of the program, its
    jumps and branches aside, which have become terminators. Raises nothing.
    """
    graph = cut_into_blocks(program)
    thread_jumps(graph)
    return graph
