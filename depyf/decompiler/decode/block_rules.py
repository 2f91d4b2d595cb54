"""Rules of the verifier for instructions that only versions before 3.11 have, and for what they do otherwise there.

Written from Python/ceval.c of 3.9 and 3.10. A handler finds six entries: the three of the exception that was handled
before, which only POP_EXCEPT may take, and traceback, value and type of the new one.
"""

from __future__ import annotations

from typing import Dict, Tuple

from depyf.decompiler.bytecode.code_flags import CO_COROUTINE
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.decode.abstract_frame import AbstractFrame, Operand
from depyf.decompiler.decode.code_layout import fail
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.opcodes import OPERATORS
from depyf.decompiler.decode.special_rules import (
    Rule,
    call_with,
    check_closure,
    in_generators,
    is_names,
    make_yield,
    no_meaning,
    pushed_constant,
)
from depyf.decompiler.decode.stack_kinds import (
    ANY,
    BOOL,
    CELL,
    DICT,
    EXCEPTION,
    EXCEPTION_TYPE,
    FUNCTION,
    NULL,
    PREVIOUS,
    TRACEBACK,
)

OLD_FIXED: Dict[str, Tuple[int, Tuple[int, ...]]] = {
    **dict.fromkeys(OPERATORS, (2, (ANY,))),
    "LOAD_GLOBAL": (0, (ANY,)), "POP_BLOCK": (0, ()), "JUMP_ABSOLUTE": (0, ()), "JUMP_IF_NOT_EXC_MATCH": (2, ()),
    "COPY_DICT_WITHOUT_KEYS": (1, (ANY,)),
}  # fmt: skip
RAISED: Tuple[Operand, ...] = (
    Operand(1, EXCEPTION_TYPE, True), Operand(2, EXCEPTION, True), Operand(3, TRACEBACK, True)
)  # fmt: skip
SAVED: Tuple[Operand, ...] = tuple([Operand(position, PREVIOUS, True) for position in (1, 2, 3)])
OLD_OPERANDS: Dict[str, Tuple[Operand, ...]] = {
    "JUMP_IF_NOT_EXC_MATCH": (Operand(2, EXCEPTION_TYPE, True),),
    "COPY_DICT_WITHOUT_KEYS": (Operand(2, ANY, False),),
}
GONE = NULL | PREVIOUS  # below them: what a call inside the block may have taken; nothing may use it
ENTRIES = (PREVIOUS, PREVIOUS, PREVIOUS, TRACEBACK, EXCEPTION, EXCEPTION_TYPE)  # what a handler finds


def _dup_top(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _copy(frame, raw, 1)


def _dup_top_two(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _copy(frame, raw, 2)
    _copy(frame, raw, 2)


def _copy(frame: AbstractFrame, raw: Raw, position: int) -> None:
    frame.need(raw, position)
    kind = frame.kind_at(position)
    if kind & (NULL | PREVIOUS):
        fail(raw, "copies NULL or a saved exception")
    frame.push(kind)


_ROTATED = {"ROT_TWO": 2, "ROT_THREE": 3, "ROT_FOUR": 4}


def _rotate(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Move the top entry down. The saved exception is moved only to be taken at once."""
    count = _ROTATED.get(raw.opname, raw.arg)
    if count < 1:
        no_meaning(raw)
    frame.need(raw, count)
    kinds = [frame.kind_at(position) for position in range(count, 0, -1)]
    if any(kind & PREVIOUS for kind in kinds):
        is_taken = frame.layout.opname(index + 1) == "POP_EXCEPT" and index + 1 not in frame.layout.landings
        if not is_taken or kinds[:-1] != [PREVIOUS] * 3 or kinds[-1] & PREVIOUS:
            fail(raw, "moves a saved exception")
    if frame.depth - count < frame.floor:
        frame.has_changed = True
    frame.drop(count)
    for kind in (kinds[-1], *kinds[:-1]):
        frame.push(kind)


def _set_up(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.opname == "SETUP_WITH":
        frame.change(raw, 1, (ANY,))
        frame.layout.set_level(index, frame.depth)
        frame.push(ANY)
    elif raw.opname == "SETUP_ASYNC_WITH":
        frame.check(raw, (Operand(1, ANY, False),))
        frame.need(raw, 2)
        frame.layout.set_level(index, frame.depth - 1)
    else:
        frame.layout.set_level(index, frame.depth)


def _pop_except(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Take the saved exception; a value to be returned may lie below it."""
    frame.check(raw, SAVED)
    if frame.depth - frame.layout.level_at(index) not in (3, 4):
        fail(raw, "finds the saved exception in another place")
    frame.drop(3)


def _reraise(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, RAISED)
    if raw.arg > 1 or not frame.layout.blocks[index]:
        no_meaning(raw)
    frame.pop(raw, 3)


def _with_except_start(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, (*RAISED, Operand(7, ANY, False)))
    if frame.depth - frame.layout.level_at(index) != 6:
        fail(raw, "is not where the handler of a `with` statement begins")
    frame.push(ANY)


def _end_async_for(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, (*RAISED, Operand(7, ANY, False)))
    if frame.depth - frame.layout.level_at(index) != 6:
        fail(raw, "is not where the handler of an `async for` statement begins")
    frame.drop(7)


def _call_function(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.change(raw, raw.arg + 1, (ANY,))


def _call_function_kw(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if not is_names(pushed_constant(frame, index - 1), raw.arg):
        fail(raw, "has no names of its keyword arguments before it")
    frame.change(raw, raw.arg + 2, (ANY,))


def _call_method(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.need(raw, raw.arg + 2)
    call_with(frame, raw, raw.arg)


def _call_ex(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg > 1:
        no_meaning(raw)
    frame.change(raw, raw.arg + 2, (ANY,))  # what is no dict is copied into one


def _match(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Match, and push the outcome; decoding folds it with the jump that follows, and drops a subject without match."""
    layout = frame.layout
    target = layout.targets.get(index + 1, -1)
    if layout.opname(index + 1) != "POP_JUMP_IF_FALSE" or index + 1 in layout.landings:
        fail(raw, "is not followed by the jump that leaves its pattern")
    if raw.opname == "MATCH_CLASS":
        if layout.opname(target) != "POP_TOP":
            fail(raw, "keeps its subject where there is no match")
        frame.change(raw, 3, (ANY, BOOL))
    else:
        frame.check(raw, (Operand(1, ANY, False), Operand(2, ANY, False)))
        frame.change(raw, 0, (ANY, BOOL))


def _make_function(frame: AbstractFrame, index: int, raw: Raw) -> None:
    code = pushed_constant(frame, index - 2)
    if raw.arg > 15:
        no_meaning(raw)
    if not isinstance(pushed_constant(frame, index - 1), str) or not isinstance(code, CODE_TYPES):
        fail(raw, "has no code object and its qualified name before it")
    frame.change(raw, 2, ())
    check_closure(frame, index - 3, raw, code, bool(raw.arg & 8))
    for flag, kind in ((8, CELL), (4, ANY), (2, DICT), (1, ANY)):
        if raw.arg & flag:
            frame.check(raw, (Operand(1, kind, False),))
            frame.pop(raw, 1)
    frame.push(FUNCTION)


def _gen_start(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if index or raw.arg > 2:
        fail(raw, "is not at the start of the code")
    frame.drop(1)


def _yield_value(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if frame.layout.code.co_flags & CO_COROUTINE:
        fail(raw, "yields from a coroutine")
    make_yield(frame, index, raw)


OLD_SPECIAL: Dict[str, Rule] = {
    "DUP_TOP": _dup_top, "DUP_TOP_TWO": _dup_top_two, **dict.fromkeys((*_ROTATED, "ROT_N"), _rotate),
    **dict.fromkeys(("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"), _set_up),
    "POP_EXCEPT": _pop_except, "RERAISE": _reraise, "WITH_EXCEPT_START": _with_except_start,
    "END_ASYNC_FOR": _end_async_for, "CALL_FUNCTION": _call_function, "CALL_FUNCTION_KW": _call_function_kw,
    "CALL_METHOD": _call_method, "CALL_FUNCTION_EX": _call_ex, "MAKE_FUNCTION": _make_function,
    "MATCH_KEYS": _match, "MATCH_CLASS": _match, "GEN_START": _gen_start, "YIELD_VALUE": _yield_value,
    "YIELD_FROM": in_generators(2, (ANY,)),
}  # fmt: skip
