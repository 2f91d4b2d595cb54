"""Instructions of loops that keep an index above what they loop over: 3.15.

GET_ITER pushes an iterator and NULL; or a list or tuple itself, and the index of its next item. So the two entries are
no objects for a program: only FOR_ITER and SEND use them, side by side as they were pushed, and POP_ITER and POP_TOP
drop them. Where a generator is awaited or looped over, the compiler pushes the NULL itself.
"""

from __future__ import annotations

from typing import Dict

from depyf.decompiler.decode.abstract_frame import AbstractFrame, Operand
from depyf.decompiler.decode.code_layout import fail
from depyf.decompiler.decode.generator_shape import is_generator
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.special_rules import Rule, check_iterator
from depyf.decompiler.decode.stack_kinds import ANY, EXCEPTION, INDEX, ITERATED, ITERATOR, NONE, NULL, OF_LOOP

_MODES = 4  # of GET_ITER: for a loop, and three for `yield from`, which the flags of the code decide


def _get_iter(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if raw.arg >= _MODES:
        fail(raw, f"has no meaning with the argument {raw.arg}")
    if raw.arg:
        _only_in_generators(frame, raw)
    frame.change(raw, 1, (ITERATED, INDEX))


def _only_in_generators(frame: AbstractFrame, raw: Raw) -> None:
    if not is_generator(frame.layout):
        fail(raw, "is for generators only")


def _check_pair(frame: AbstractFrame, raw: Raw, position: int, needed: int) -> bool:
    """Check the iterator and, at `position` from the top, its index; return whether the compiler pushed NULL there."""
    frame.need(raw, position + 1)
    over, above = frame.kind_at(position + 1), frame.kind_at(position)
    if above == NULL and not over & OF_LOOP:
        frame.check(raw, (Operand(position + 1, needed, False),))
        return True
    if above != INDEX or over != ITERATED:
        fail(raw, "finds no iterator with its index above it")
    return False


def _for_iter(frame: AbstractFrame, index: int, raw: Raw) -> None:
    if _check_pair(frame, raw, 1, ITERATOR):
        check_iterator(frame, index, raw)


def _send(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _only_in_generators(frame, raw)
    _check_pair(frame, raw, 2, ANY)


def _drop_pair(frame: AbstractFrame, raw: Raw) -> None:
    if frame.depth - 2 < frame.floor:
        frame.underflow(raw, 2)
    frame.drop(2)


def _pop_iter(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _check_pair(frame, raw, 1, ANY)
    _drop_pair(frame, raw)


def _end_send(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _only_in_generators(frame, raw)
    frame.pop(raw, 1)
    _drop_pair(frame, raw)
    frame.push(ANY)


def _cleanup_throw(frame: AbstractFrame, index: int, raw: Raw) -> None:
    _only_in_generators(frame, raw)
    frame.check(raw, (Operand(1, EXCEPTION, True),))
    frame.pop(raw, 2)
    _drop_pair(frame, raw)
    for kind in (NONE, NULL, ANY):
        frame.push(kind)


def _end_async_for(frame: AbstractFrame, index: int, raw: Raw) -> None:
    """Drop the exception and the iterator; where it raises instead, they are still there."""
    frame.check(raw, (Operand(1, EXCEPTION, True), Operand(2, ANY, False)))
    frame.drop(2)
    frame.has_changed = True


WITH_INDICES: Dict[str, Rule] = {
    "GET_ITER": _get_iter, "FOR_ITER": _for_iter, "SEND": _send, "POP_ITER": _pop_iter, "END_SEND": _end_send,
    "CLEANUP_THROW": _cleanup_throw, "END_ASYNC_FOR": _end_async_for,
}  # fmt: skip
