"""The shape of generators and coroutines: decoding folds parts of it away, so it must be exactly what compilers emit.

Two parts: the loops of `await` and `yield from`, and the handler that 3.12 puts around the whole body. What RESUME,
YIELD_VALUE and the wrapping of an async generator's values state is checked, too.
"""

from __future__ import annotations

from typing import Dict, List, Optional

from depyf.decompiler.bytecode.code_flags import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.decode.code_layout import Handler, Layout, fail
from depyf.decompiler.decode.frame_start import depth_at_start
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.opcodes import INTRINSICS_1

_KINDS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_STOPITERATION_ERROR = INTRINSICS_1.index("STOPITERATION_ERROR")
_ASYNC_GEN_WRAP = INTRINSICS_1.index("ASYNC_GEN_WRAP")
_CANNOT_RAISE = ("NOP", "NOT_TAKEN", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
# What the argument of the RESUME after a YIELD_VALUE states.
_AFTER_YIELD, _AFTER_YIELD_FROM, _AFTER_AWAIT = 1, 2, 3


def is_generator(layout: Layout) -> bool:
    """Return whether calling the code makes a generator, a coroutine or an async generator."""
    return bool(layout.code.co_flags & _KINDS)


def check_generator(layout: Layout, start: int) -> None:
    """Raise Malformed where a generator or coroutine, whose RESUME is at `start`, is not as compilers emit it."""
    kinds = layout.code.co_flags & _KINDS
    if kinds & (kinds - 1):
        raise Malformed("the flags state several kinds of generator at once")
    if not layout.facts.frames_begin_with_resume:
        return
    if any(raw.opname == "RETURN_GENERATOR" for raw in layout.instructions[start:]):
        raise Malformed("the generator is made twice")
    shape = GeneratorShape(layout, start)
    stop = shape.stop_handler() if layout.facts.generators_wrapped_in_handler else None
    for index, raw in enumerate(layout.instructions):
        if raw.opname == "SEND":
            shape.check_send_loop(index)
    for index, raw in enumerate(layout.instructions):
        shape.check_place(index, raw, stop)
        if raw.opname == "YIELD_VALUE":
            shape.check_yield(index, stop)


class GeneratorShape:
    """The checks of one generator or coroutine."""

    def __init__(self, layout: Layout, body: int) -> None:
        self.layout = layout
        self.body = body  # index of the first instruction that the generator itself runs
        self.depth = depth_at_start(layout, body)
        self.sources: Dict[int, List[int]] = {}  # index of an instruction -> the jumps to it
        for jump, target in layout.targets.items():
            self.sources.setdefault(target, []).append(jump)
        self.ends: Dict[int, int] = {}  # END_SEND and CLEANUP_THROW of a checked loop -> its SEND

    def stop_handler(self) -> Optional[int]:
        """Return the index of the handler that turns StopIteration into RuntimeError."""
        layout = self.layout
        found = [
            index
            for index, raw in enumerate(layout.instructions)
            if raw.opname == "CALL_INTRINSIC_1" and raw.arg == _STOPITERATION_ERROR
        ]
        if not found and layout.code.co_name == "<lambda>":  # the compiler leaves it out there
            return None
        if len(found) != 1:
            raise Malformed("the generator has no handler of StopIteration, or several")
        stop = found[0]
        end = layout.instructions[stop + 1 : stop + 2]
        is_whole = end and end[0].opname == "RERAISE" and end[0].arg == 1 and not self.is_entered(stop)
        entries = [handler for handler in layout.handlers if handler is not None and handler.target == stop]
        if (
            not is_whole
            or stop + 1 in layout.landings
            or any(handler.depth != self.depth or not handler.lasti for handler in entries)
        ):
            fail(layout.instructions[stop], "is not in the handler that compilers emit")
        if layout.handler_at(stop) is not None or layout.handler_at(stop + 1) is not None:
            fail(layout.instructions[stop], "is itself under a handler")
        return stop

    def is_entered(self, index: int) -> bool:
        """Return whether control comes to a handler in other ways than by an exception."""
        return index in self.sources or not self.layout.ends(index - 1)

    def check_yield(self, index: int, stop: Optional[int]) -> None:
        """Check what RESUME and YIELD_VALUE state about a `yield`, which `throw` and `close` rely on."""
        layout, facts = self.layout, self.layout.facts
        raw = layout.instructions[index]
        if layout.opname(index + 1) != "RESUME" or index + 1 in layout.landings:
            fail(raw, "is not followed by its RESUME")
        resumed = layout.instructions[index + 1].arg
        states_depth = raw.arg == 1 if facts.yield_states_depth else bool(resumed & facts.resume_depth_bit)
        if facts.generators_wrapped_in_handler and states_depth is not (self.depth_at(index, stop) == 1):
            fail(raw, "states wrongly whether there is a handler around it")
        if facts.resume_states_depth:
            resumed &= ~facts.resume_depth_bit
        in_loop = layout.opname(index - 1) == "SEND"
        if resumed not in ((_AFTER_YIELD_FROM, _AFTER_AWAIT) if in_loop else (_AFTER_YIELD,)):
            fail(raw, f"is followed by RESUME {resumed}")
        if facts.resume_states_depth and raw.arg != int(in_loop):
            fail(raw, f"has no meaning with the argument {raw.arg}")
        if not in_loop:
            self.check_wrapping(index)

    def depth_at(self, index: int, stop: Optional[int]) -> int:
        """Return how many handlers are around an instruction; 2 for more."""
        handler = self.layout.handler_at(index)
        if handler is None:
            return 0
        return 1 if handler.target == stop or self.layout.handler_at(handler.target) is None else 2

    def check_wrapping(self, index: int) -> None:
        """Check that the values of async generators, and no others, are wrapped before they are yielded."""
        layout = self.layout
        raw = layout.instructions[index]
        is_wrapped = wraps(layout, index - 1) and index not in self.sources
        is_async = bool(layout.code.co_flags & CO_ASYNC_GENERATOR)
        if is_wrapped is not is_async or layout.code.co_flags & CO_COROUTINE:
            fail(raw, "yields from a coroutine, or a value that is not wrapped as its kind of generator needs")

    def check_send_loop(self, send: int) -> None:
        """Check the loop of `await` and `yield from`: SEND, YIELD_VALUE, RESUME, JUMP back, and what follows it."""
        layout = self.layout
        raw, end = layout.instructions[send], layout.targets[send]
        names = [layout.opname(send + offset) for offset in (1, 2, 3)]
        if names != ["YIELD_VALUE", "RESUME", "JUMP_BACKWARD_NO_INTERRUPT"] or layout.targets[send + 3] != send:
            fail(raw, "begins no loop")
        if not layout.landings.isdisjoint(range(send + 1, send + 4)) or self.sources[send] != [send + 3]:
            fail(raw, "is in a loop that others jump into")
        around, inside = layout.handler_at(send), layout.handler_at(send + 1)
        if not layout.facts.send_loops_have_cleanup:
            if end < send + 4 or not _same(around, inside):
                fail(raw, "is in a loop whose end or handler is elsewhere")
            return
        cleanup = -1 if inside is None or inside.lasti else inside.target
        jump = cleanup + 1
        if layout.opname(cleanup) != "CLEANUP_THROW" or layout.opname(end) != "END_SEND":
            fail(raw, "is in a loop without its END_SEND and CLEANUP_THROW")
        known = {send}
        if jump != end:
            known.add(jump)
            if layout.targets.get(jump) != end or not layout.ends(jump):
                fail(raw, "is in a loop whose CLEANUP_THROW continues elsewhere")
        if (
            end not in (send + 4, send + 5)
            or not known.issuperset(self.sources[end])
            or not _same(around, layout.handler_at(cleanup))
        ):
            fail(raw, "is in a loop whose end or handler is elsewhere")
        if self.is_entered(cleanup) or cleanup in self.ends or end in self.ends:
            fail(raw, "is in a loop whose end is shared")
        self.ends[cleanup] = self.ends[end] = send

    def cannot_raise(self, raw: Raw) -> bool:
        """Return whether the compiler may leave the instruction out of the exception table."""
        if raw.opname.startswith("POP_JUMP"):
            return self.layout.facts.branches_need_bool or "NONE" in raw.opname
        return raw.opname in _CANNOT_RAISE

    def is_threaded_test(self, index: int) -> bool:
        """Return whether an instruction is COPY or TO_BOOL of a test of a value that stays on the stack."""
        layout = self.layout
        first = index - (layout.opname(index) == "TO_BOOL")
        branch = first + (2 if layout.opname(first + 1) == "TO_BOOL" else 1)
        return (
            layout.facts.threaded_tests_lose_handlers
            and layout.opname(first) == "COPY"
            and layout.instructions[first].arg == 1
            and layout.opname(branch) in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
            and layout.landings.isdisjoint(range(first + 1, branch + 1))
        )

    def check_place(self, index: int, raw: Raw, stop: Optional[int]) -> None:
        """Check that the parts of loops are in loops, and that every instruction is under the handler that it needs."""
        if raw.opname in ("END_SEND", "CLEANUP_THROW") and index not in self.ends:
            fail(raw, "belongs to no loop")
        handler = self.layout.handler_at(index)
        if handler is not None:
            if self.ends.get(handler.target, index - 1) != index - 1:
                fail(raw, "has the handler of another YIELD_VALUE")
        elif stop is not None and index >= self.body and index not in (stop, stop + 1):
            if not self.cannot_raise(raw) and not self.is_threaded_test(index):
                fail(raw, "is in a generator and not under its handler of StopIteration")


def _same(one: Optional[Handler], other: Optional[Handler]) -> bool:
    """Return whether two instructions have the same handler."""
    if one is None or other is None:
        return one is other
    return (one.target, one.depth, one.lasti) == (other.target, other.depth, other.lasti)


def wraps(layout: Layout, index: int) -> bool:
    """Return whether the instruction at `index` wraps a value of an async generator."""
    raw = layout.instructions[index]
    return raw.opname == "ASYNC_GEN_WRAP" or (raw.opname == "CALL_INTRINSIC_1" and raw.arg == _ASYNC_GEN_WRAP)
