"""Depth changes: how much deeper each instruction of 3.7 makes the stack (Python/compile.c, `stack_effect`)."""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.opcodes import OPERATORS, UNPACKED

# Jumps -> the change where they jump and where they do not; None where they always jump.
JUMPS_BY_DEPTH: Dict[str, Tuple[int, Optional[int]]] = {
    "JUMP_FORWARD": (0, None), "JUMP_ABSOLUTE": (0, None), "POP_JUMP_IF_FALSE": (-1, -1), "POP_JUMP_IF_TRUE": (-1, -1),
    "JUMP_IF_FALSE_OR_POP": (0, -1), "JUMP_IF_TRUE_OR_POP": (0, -1), "FOR_ITER": (-1, 1),
}  # fmt: skip
_FIXED: Dict[str, int] = {
    **dict.fromkeys(("DUP_TOP_TWO",), 2),
    **dict.fromkeys((
        "LOAD_CONST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF",
        "LOAD_BUILD_CLASS", "LOAD_METHOD", "DUP_TOP", "GET_ANEXT", "IMPORT_FROM", "BEFORE_ASYNC_WITH",
    ), 1),
    **dict.fromkeys((
        "NOP", "ROT_TWO", "ROT_THREE", "UNARY_POSITIVE", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "LOAD_ATTR",
        "GET_ITER", "GET_YIELD_FROM_ITER", "GET_AITER", "GET_AWAITABLE", "DELETE_FAST", "DELETE_NAME", "DELETE_GLOBAL",
        "DELETE_DEREF", "SETUP_ANNOTATIONS", "YIELD_VALUE",
    ), 0),
    **dict.fromkeys((
        "POP_TOP", *OPERATORS, "BINARY_SUBSCR", "COMPARE_OP", "STORE_FAST", "STORE_NAME", "STORE_GLOBAL",
        "STORE_DEREF", "DELETE_ATTR", "PRINT_EXPR", "IMPORT_NAME", "IMPORT_STAR", "LIST_APPEND", "SET_ADD",
        "YIELD_FROM",
    ), -1),
    **dict.fromkeys(("STORE_ATTR", "DELETE_SUBSCR", "MAP_ADD"), -2),
    **dict.fromkeys(("STORE_SUBSCR",), -3),
}  # fmt: skip
_BY_ARGUMENT: Dict[str, Callable[[int], int]] = {
    **dict.fromkeys(
        ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE", *UNPACKED), lambda arg: 1 - arg
    ),
    "BUILD_MAP": lambda arg: 1 - 2 * arg,
    "BUILD_CONST_KEY_MAP": lambda arg: -arg,
    "FORMAT_VALUE": lambda arg: -bool(arg & 4),
    "UNPACK_SEQUENCE": lambda arg: arg - 1,
    "UNPACK_EX": lambda arg: (arg & 255) + (arg >> 8),
    "CALL_FUNCTION": lambda arg: -arg,
    "CALL_FUNCTION_KW": lambda arg: -arg - 1,
    "CALL_FUNCTION_EX": lambda arg: -1 - (arg & 1),
    "CALL_METHOD": lambda arg: -arg - 1,
    "MAKE_FUNCTION": lambda arg: -1 - bin(arg & 15).count("1"),
}


def depth_change(raw: Raw) -> int:
    """Return by how many entries an instruction that does not jump changes the depth of the stack."""
    fixed = _FIXED.get(raw.opname)
    if fixed is not None:
        return fixed
    if raw.opname not in _BY_ARGUMENT:
        raise Malformed(f"{raw.opname} at {raw.offset} is in a place where it has no meaning")
    return _BY_ARGUMENT[raw.opname](raw.arg)
