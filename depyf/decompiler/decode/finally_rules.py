"""Rules of the verifier for instructions of 3.7 and 3.8 alone: parts of `finally` and `with`, displays that unpack.

Written from Python/ceval.c of 3.8, for the copies that finally_copies.py makes. How a `finally` body was entered, NULL
or the offset to return to, counts as NULL: nothing but the parts of `finally` may take it.
"""

from __future__ import annotations

from typing import Dict, Tuple

from depyf.decompiler.decode.abstract_frame import AbstractFrame, Operand
from depyf.decompiler.decode.code_layout import fail
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.special_rules import Rule, no_meaning
from depyf.decompiler.decode.stack_kinds import (
    ANY,
    BOOL,
    DICT,
    EXCEPTION,
    EXCEPTION_TYPE,
    LIST,
    NONE,
    NULL,
    PREVIOUS,
    SET,
    TRACEBACK,
)

_FIRST_OTHER, _MATCH = 6, 10  # numbers of COMPARE_OP: `in`, and the match of an exception


def _enter(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.push(NULL)


def _leave(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Take how the body was entered; POP_FINALLY 1 leaves the object above it."""
    above = raw.arg if raw.opname == "POP_FINALLY" else 0
    frame.need(raw, above + 1)
    if frame.depth - above - 1 < frame.floor:
        frame.underflow(raw, above + 1)
    if frame.kind_at(above + 1) != NULL:
        fail(raw, "does not find how the `finally` body was entered")
    if not above:
        frame.drop(1)
        return
    frame.check(raw, (Operand(1, ANY, False),))
    kind = frame.kind_at(1)
    frame.drop(2)
    frame.push(kind)


def _start_cleanup(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg:
        frame.check(raw, (*_raised(1), Operand(7, ANY, False)))
        if frame.depth - frame.layout.level_at(index) != 6:
            fail(raw, "is not where the handler of a `with` statement begins")
        frame.push(EXCEPTION_TYPE)
        frame.push(ANY)
        return
    frame.need(raw, 2)
    if frame.kind_at(1) != NULL:
        fail(raw, "finds no NULL above its exit method")
    frame.drop(1)
    frame.change(raw, 1, (NULL, NONE, ANY))


def _finish_cleanup(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, (Operand(1, ANY, False), Operand(2, NONE, True)))
    frame.pop(raw, 2)


def _test_exit(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(raw, (Operand(1, ANY, False), Operand(2, EXCEPTION_TYPE, True), *_raised(3)))
    if frame.depth - frame.layout.level_at(index) != 8:
        fail(raw, "is not in the handler of a `with` statement")
    frame.pop(raw, 2)


def _swallow(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.check(
        raw, (*_raised(1), *(Operand(position, PREVIOUS, True) for position in (4, 5, 6)), Operand(7, ANY, False))
    )
    if frame.depth - frame.layout.level_at(index) != 6:
        fail(raw, "is not in the handler of a `with` statement")
    frame.drop(7)
    frame.push(NULL)


def _raised(first: int) -> Tuple[Operand, ...]:
    """Return that type, value and traceback of an exception are at `first` and below."""
    kinds = (EXCEPTION_TYPE, EXCEPTION, TRACEBACK)
    return tuple([Operand(first + place, kind, True) for place, kind in enumerate(kinds)])


def _compare(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg > _MATCH:
        no_meaning(raw)
    if raw.arg == _MATCH:
        frame.check(raw, (Operand(1, ANY, False), Operand(2, EXCEPTION_TYPE, True)))
    frame.change(raw, 2, (BOOL if raw.arg >= _FIRST_OTHER else ANY,))


_UNPACKED = {"BUILD_LIST_UNPACK": LIST, "BUILD_SET_UNPACK": SET, "BUILD_MAP_UNPACK": DICT}


def _build_unpacked(frame: AbstractFrame, index: int, raw: Raw) -> None:
    frame.change(raw, raw.arg, (_UNPACKED.get(raw.opname, ANY),))


def _collect_arguments(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Collect arguments: the callable below them is named if one of them cannot be unpacked."""
    is_map = raw.opname == "BUILD_MAP_UNPACK_WITH_CALL"
    frame.check(raw, (Operand(raw.arg + (2 if is_map else 1), ANY, False),))
    frame.change(raw, raw.arg, (DICT if is_map else ANY,))


FINALLY_RULES: Dict[str, Rule] = {
    "BEGIN_FINALLY": _enter, "CALL_FINALLY": _enter, "END_FINALLY": _leave, "POP_FINALLY": _leave,
    "WITH_CLEANUP_START": _start_cleanup, "WITH_CLEANUP_FINISH": _finish_cleanup, "JUMP_IF_SWALLOWED": _test_exit,
    "WITH_SWALLOWED": _swallow, "COMPARE_OP": _compare,
    **dict.fromkeys((*_UNPACKED, "BUILD_TUPLE_UNPACK"), _build_unpacked),
    "BUILD_TUPLE_UNPACK_WITH_CALL": _collect_arguments, "BUILD_MAP_UNPACK_WITH_CALL": _collect_arguments,
}  # fmt: skip
