"""Calls of `FunctionType` -> MAKE_FUNCTION: functions over cells that are no variables of the frame.

MAKE_FUNCTION takes its closure, a tuple of cells, from the stack. The compiler puts cells of the frame there; Dynamo of
torch 2.9 to 2.11 also puts cells of other frames there, where a graph breaks in a called function and the rest of that
function is to be resumed. Source spells such a function by calling the type of functions itself:

    FunctionType(closure=cells, code=..., globals=globals())

`FunctionType` and `globals` are constants in the code, not names that a program could rebind. So the call does what
MAKE_FUNCTION does, and is decoded as that.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import List, Optional, Sequence

from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.microops import CLOSURE, Op, stack_effect

FUNCTION_PARTS = ("closure", "code", "globals")  # the keywords of such a call, in this order
_SIMPLE = frozenset({
    "LOAD_LOCAL", "LOAD_CELL", "LOAD_CLOSURE", "CONST", "LOAD_ATTR", "SUBSCR", "BUILD_SLICE", "BUILD_TUPLE",
    "BUILD_LIST",
})  # fmt: skip


def fold_function_calls(ops: List[Op], gone: str) -> None:
    """Turn such calls into MAKE_FUNCTION; give the ops that are not needed then the kind `gone`."""
    wanted = (len(FUNCTION_PARTS), FUNCTION_PARTS)
    for index in [index for index, op in enumerate(ops) if op.kind == "CALL" and op.arg[:2] == wanted]:
        tail = ops[max(index - 4, 0) : index]  # the code; `globals` and its NULL; its call
        start = _start_of_value(ops, index - 4, gone)
        if start is None or start < 2 or not _are_constants(tail, [CodeType, globals]):
            continue
        head = ops[start - 2 : start]
        targets = {op.target for op in ops}
        if _are_constants(head, [FunctionType]) and targets.isdisjoint(range(start - 1, index + 1)):
            for op in (*head, *tail[1:]):
                op.kind = gone
            ops[index].kind, ops[index].arg = "MAKE_FUNCTION", CLOSURE


def _start_of_value(ops: Sequence[Op], end: int, gone: str) -> Optional[int]:
    """Return the index of the first op that computes the value on top of the stack before `end`, or None."""
    missing = 1
    index = end
    while missing and index > 0:
        index -= 1
        if ops[index].kind == gone:
            continue  # a part of `(lambda: x).__closure__`, which is only the cells
        if ops[index].kind not in _SIMPLE:
            return None
        popped, pushed = stack_effect(ops[index])
        missing += popped - pushed
    return index if not missing else None


def _are_constants(ops: Sequence[Op], wanted: Sequence[object]) -> bool:
    """Return whether the ops only push these constants (CodeType: any code), push NULLs or call without arguments."""
    constants = [op.arg for op in ops if op.kind == "CONST"]
    others = [op for op in ops if op.kind != "CONST"]
    calls = [op for op in others if op.kind == "CALL"]
    if any(op.kind not in ("PUSH_NULL", "CALL") for op in others) or any(op.arg[0] for op in calls):
        return False
    return len(constants) == len(wanted) and all(
        isinstance(constant, CODE_TYPES) if one is CodeType else constant is one
        for constant, one in zip(constants, wanted)
    )
