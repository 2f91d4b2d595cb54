"""Fold: blocks that only compute a value become part of the expression that they compute it for.

The compiler turns `and`, `or`, conditional expressions and chained comparisons into branches. A block that
does nothing but compute an operand is folded into the block before it, as one structured op:

    SELECT (test, then_ops, else_ops)      `then if test else orelse`: the test pops its operand, one value is left
    BOOL (op, test, rest, inner)           `first and rest...` with the first operand on the stack; reversed. inner:
                                           of each of the rest but the last, whether its test is in parentheses
    CHAIN (operator, rest)                 `a < b < c`: pops a and b; rest holds (ops of c, operator), reversed
    COMPREHENSION c                        an inlined comprehension (see clean_graph); pops an iterator

What is left of the graph afterwards needs statements.
"""

from __future__ import annotations

from depyf.decompiler.flow.regions import ProtectedGraph
from depyf.decompiler.fold.rules import apply_rules

__all__ = ["fold"]


def fold(protected: ProtectedGraph, *, expressions: bool = True) -> ProtectedGraph:
    """Return the graph with straight lines joined and branches that compute a value folded into expressions.

    Enters: a graph as `clean_graph` returns it; it is spent. Without `expressions` only straight lines are joined, and
    every branch stays a statement. Leaves: a graph whose terminators are jumps, branches with a compound test, loops,
    guards and ends. Raises Unstructured where a compound test leaves a value that nothing takes.
    """
    graph, regions = protected.graph.hand_over(), protected.regions
    apply_rules(graph, expressions)
    return ProtectedGraph(graph, regions)
