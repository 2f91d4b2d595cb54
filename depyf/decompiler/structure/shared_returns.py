"""Duplicate a shared return into each block that computes its value.

`return x` in an `except` clause, a `for` loop or a `with` block ends in clean-up below the value. The compiler shares
that end between returns where it can; the text has one `return` for each value. A value that is not returned after
all, since a `finally` body around leaves for elsewhere, is dropped where it was computed.
"""

from __future__ import annotations

from typing import List

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import End, Graph, Jump


def share_out_returns(graph: Graph) -> None:
    """Let every block that leads to the return of a value that it computed return it by itself."""
    for end in graph.blocks:
        term = end.term
        if isinstance(term, End) and _returns_what_was_there(end.ops):
            for pred in list(dict.fromkeys(end.preds)):
                if isinstance(pred.term, Jump):
                    pred.ops.extend(end.ops)
                    pred.set_term(End())
        elif isinstance(term, Jump) and end.ops and all(op.kind == "POP" for op in end.ops):
            for pred in list(dict.fromkeys(end.preds)):
                if isinstance(pred.term, Jump) and _leaves_a_value(pred.ops):
                    pred.ops.extend(end.ops)
                    pred.set_term(Jump(term.target))


def _leaves_a_value(ops: List[Op]) -> bool:
    """Return whether the ops end in clean-up below a value."""
    return len(ops) > 1 and ops[-2].kind == "SWAP" and ops[-1].kind in ("POP", "POP_EXCEPT")


def _returns_what_was_there(ops: List[Op]) -> bool:
    """Return whether the ops do nothing but return what was on the stack before them, popping what lies below."""
    stack: List[bool] = []  # of each entry: was it there before?
    for op in ops:
        kind = op.kind
        while len(stack) < (op.arg if kind in ("SWAP", "COPY") else 1):
            stack.insert(0, True)
        if kind == "RETURN":
            return stack[-1]
        if kind == "CONST":
            stack.append(False)
        elif kind == "COPY":
            stack.append(stack[-op.arg])
        elif kind == "SWAP":
            stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
        elif kind in ("POP", "POP_EXCEPT") or (kind.startswith("STORE_") and not stack[-1]):
            stack.pop()
        elif not kind.startswith("DELETE_"):
            return False
    return False
