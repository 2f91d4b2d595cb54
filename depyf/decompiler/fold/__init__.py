"""Fold: blocks that only compute a value become part of the expression they compute it for.

The compiler turns `and`, `or`, conditional expressions and chained comparisons into branches. A block that
does nothing but compute an operand is folded into the block before it, as one structured op:

    SELECT (test, then_ops, else_ops)      `then if test else orelse`: the test pops its operand, one value is left
    BOOL (op, test, rest)                  `first and rest...` with the first operand on the stack; reversed
    CHAIN (operator, rest)                 `a < b < c`: pops a and b; rest holds (ops of c, operator), reversed
    COMPREHENSION c                        a comprehension that was inlined (undo.comprehensions); pops an iterator

What is left of the graph afterwards needs statements.
"""

from depyf.decompiler.fold.expression_ops import effect, ends_in_membership
from depyf.decompiler.fold.irrelevant_tests import always
from depyf.decompiler.fold.rules import drop_unreachable, fold

__all__ = ["always", "drop_unreachable", "effect", "ends_in_membership", "fold"]
