"""Expression ops: which runs of ops are expressions, and what they leave on the stack."""

from __future__ import annotations

from typing import List, Optional

from depyf.decompiler.bytecode.microops import FIXED_EFFECTS, STORES, Op, depth_needed, stack_effect

# Ops that are statements, or parts of statements, wherever they occur.
STATEMENTS = frozenset({
    "POP", "DELETE_LOCAL", "DELETE_CELL", "DELETE_GLOBAL", "DELETE_NAME", "STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR",
    "DELETE_SUBSCR", "UNPACK", "UNPACK_EX", "RETURN", "RAISE", "RERAISE", "PUSH_EXC_INFO", "POP_EXCEPT",
    "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "WITH_EXCEPT_START",
    "IMPORT_NAME", "LAZY_IMPORT_NAME", "IMPORT_NAME_BY_MODE", "IMPORT_FROM", "IMPORT_STAR", "SETUP_ANNOTATIONS",
    "PRINT_EXPR", "LOAD_LOCAL_AND_CLEAR", "GET_ANEXT", "END_ASYNC_FOR", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS",
    "MATCH_CLASS", "GET_LEN", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL",
})  # fmt: skip


def effect(ops: List[Op]) -> Optional[int]:
    """Return how many values `ops` leave if they are an expression: no statement, no entry below them used."""
    depth = 0
    previous = None
    for op in ops:
        kind = op.kind
        if kind in STATEMENTS or (kind in STORES and not (previous is not None and _copies_top(previous))):
            return None
        if depth < depth_needed(op):
            return None
        popped, pushed = FIXED_EFFECTS.get(op.kind) or stack_effect(op)
        depth += pushed - popped
        previous = op
    return depth


def reaches_below(ops: List[Op]) -> bool:
    """Return whether ops use, in an expression, values that were on the stack before them; not when cleaning up."""
    depth = 0
    for op in ops:
        if depth < depth_needed(op):
            return op.kind not in STATEMENTS and op.kind != "SWAP"
        popped, pushed = FIXED_EFFECTS.get(op.kind) or stack_effect(op)
        depth += pushed - popped
    return False


def _copies_top(op: Op) -> bool:
    """Return whether an op is COPY 1: together with a store it is a walrus."""
    return op.kind == "COPY" and op.arg == 1


def comparison(op: Op) -> Optional[str]:
    """Return the operator of a comparison op."""
    if op.kind == "COMPARE":
        return str(op.arg)
    if op.kind == "IS":
        return "is not" if op.arg else "is"
    if op.kind == "CONTAINS":
        return "not in" if op.arg else "in"
    return None


def ends_in_membership(ops: List[Op]) -> bool:
    """Return whether ops end in an `is` or `in` test, which has an opposite of its own."""
    return bool(ops) and ops[-1].kind in ("IS", "CONTAINS")
