"""Verify a code object: follow every path and check what each instruction finds on the stack and in the variables.

An abstract interpretation, as verifiers of other virtual machines do it: the state before an instruction is the kind
of every stack entry (abstract_frame.py) and what every variable's slot may hold (variable_slots.py). States that meet
are joined; a place is followed again when its state grows. States only grow, and visits are counted, so this ends.
"""

from __future__ import annotations

import heapq
from types import CodeType
from typing import Dict, List, Sequence

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.abstract_frame import AbstractFrame, State, joined
from depyf.decompiler.decode.block_rules import ENTRIES, GONE
from depyf.decompiler.decode.borrowed_loads import check_borrowed_loads
from depyf.decompiler.decode.code_layout import CONTROL, ENDS, Layout, fail
from depyf.decompiler.decode.frame_start import check_start
from depyf.decompiler.decode.generator_shape import check_generator, is_generator
from depyf.decompiler.decode.instructions import ExceptionRange, Instructions, Raw
from depyf.decompiler.decode.opcodes import CellUses
from depyf.decompiler.decode.open_blocks import Blocks
from depyf.decompiler.decode.stack_kinds import ANY, EXCEPTION, LAST_INSTRUCTION, NULL
from depyf.decompiler.decode.stack_rules import NEVER, UNKNOWN, rules_for

MOST_VISITS = 60  # of one place, before the verifier gives up


def verify(
    code: CodeType, instructions: Instructions, ranges: Sequence[ExceptionRange], facts: PythonFacts
) -> CellUses:
    """Raise Malformed if the interpreter could not run the code safely, or if it has a shape that no compiler emits.

    Return which instructions on locals act on a cell that is in the slot.
    """
    layout = Layout(code, instructions, ranges, facts)
    start = check_start(layout, is_generator(layout))
    if is_generator(layout):
        check_generator(layout, start)
    verifier = Verifier(layout)
    verifier.run()
    if facts.loads_may_borrow:
        check_borrowed_loads(layout, verifier.frame.slots.cell_uses)
    return verifier.frame.slots.cell_uses


# Where an inlined comprehension ends in an exception, these put its variables back: a handler around it finds them so.
_CANNOT_RAISE = frozenset({
    "PUSH_EXC_INFO", "POP_EXCEPT", "POP_TOP", "SWAP", "COPY", "STORE_FAST", "NOP", "LOAD_FAST_AND_CLEAR", "MAKE_CELL",
    "LOAD_CONST", "END_FOR", "JUMP_FORWARD", "STORE_FAST_STORE_FAST", "NOT_TAKEN", "POP_ITER", "LOAD_SMALL_INT",
    "LOAD_COMMON_CONSTANT", "PUSH_NULL", "RETURN_VALUE",
})  # fmt: skip
_MOVES = {"COPY": 1, "SWAP": 0}  # of entries in the stack -> how many more there are
_LOADS = ("LOAD_FAST_BORROW", "LOAD_FAST")


class Verifier:
    """Follows all paths of one code object; `states` are those where paths meet."""

    __slots__ = ("frame", "layout", "rules", "states", "visits", "waiting")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.frame = AbstractFrame(layout)
        self.rules = rules_for(layout.facts.version, not self.frame.slots.at_entry)
        self.states: Dict[int, State] = {}
        self.visits: Dict[int, int] = {}
        self.waiting: List[int] = []

    def run(self) -> None:
        """Follow all paths; those that begin earlier in the code come first, so that most states are complete."""
        depth = 1 if self.layout.opname(0) == "GEN_START" else 0  # what is sent in first
        self.states[0] = (depth, None, self.frame.held)
        self.follow(0)
        while self.waiting:
            index = heapq.heappop(self.waiting)
            while self.waiting and self.waiting[0] == index:
                heapq.heappop(self.waiting)
            self.follow(index)

    def follow(self, first: int) -> None:
        """Follow the instructions from `first` on, up to an end or to a known state."""
        frame, layout, rules = self.frame, self.layout, self.rules
        instructions, borders, slots = layout.instructions.plain, layout.borders, frame.slots.plain
        limit = layout.code.co_stacksize
        is_unprotected = not layout.handlers and not layout.blocks
        frame.depth, frame.special, frame.held = self.states[first]
        guard = self.enter_handler(first)
        depth, held = frame.depth, frame.held
        for index in range(first, len(instructions)):
            if index in borders and index != first:
                frame.depth, frame.held = depth, held
                if not self.arrive(index):
                    return
                frame.depth, frame.special, frame.held = self.states[index]
                guard = self.enter_handler(index)
                depth, held = frame.depth, frame.held
            fields = instructions[index]
            opname = fields[2]
            pops, delta, rule = rules.get(opname, UNKNOWN)
            if depth - pops >= guard:
                depth += delta
            elif opname in _LOADS and fields[3] in slots and not held >> fields[3] & 1:
                depth += 1
            elif opname == "STORE_FAST" and fields[3] in slots and depth > guard:
                depth -= 1
                held &= ~(1 << fields[3])
            elif opname in _MOVES and 0 < fields[3] <= depth - guard:  # of objects like any other
                depth += _MOVES[opname]
            elif opname == "DELETE_FAST" and fields[3] in slots and is_unprotected:
                held = frame.slots.stored(held, fields[3], NULL)
            else:
                raw = Raw(*fields)
                frame.depth, frame.held = depth, held
                rule(frame, index, raw)
                if frame.has_sunk:
                    self.enter_block(index)
                if opname in CONTROL and not self.leave(index, raw):
                    return
                guard = self.enter_handler(index + 1) if frame.has_changed else frame.guard()
                depth, held = frame.depth, frame.held
            if depth > limit:
                fail(Raw(*fields), f"needs a stack of {depth}, and co_stacksize is {limit}")
        raise Malformed("control runs off the end of the code")

    def leave(self, index: int, raw: Raw) -> bool:
        """Follow a jump, or end; return whether the next instruction follows."""
        frame, opname = self.frame, raw[2]
        target = self.layout.targets.get(index)
        if target is None:  # it returns or raises
            if opname in ("RETURN_VALUE", "RETURN_CONST") and frame.depth:
                fail(raw, f"leaves {frame.depth} values on the stack")
            return False
        depth, special = frame.depth, frame.special
        if opname == "FOR_ITER":
            if self.layout.facts.iterators_have_indices:
                frame.drop(2)  # the instruction behind it does so, which cannot raise
            else:
                frame.pop(raw, 1)
        elif opname == "SEND":
            frame.change(raw, 1, (ANY,))
            depth, special = frame.depth, frame.special
            if not self.layout.facts.send_loops_have_cleanup:
                frame.change(raw, 2, (ANY,))
        if self.arrive(target):
            heapq.heappush(self.waiting, target)
        if opname in ENDS:
            return False
        frame.depth, frame.special = depth, special
        if opname == "FOR_ITER":
            frame.push(ANY)
        elif opname in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"):
            frame.pop(raw, 1)
        return True

    def enter_handler(self, index: int) -> int:
        """Follow an exception from the instruction at `index` to the handler in charge.

        Return the depth down to which instructions need no rule but their numbers, NEVER if there is none.
        """
        frame, layout = self.frame, self.layout
        frame.has_changed = False
        if layout.blocks:
            return self.enter_block(index)
        handler = layout.handlers[index] if layout.handlers and index < len(layout.instructions) else None
        if handler is None:
            frame.floor = 0
            return frame.guard()
        if layout.opname(index) in _CANNOT_RAISE:  # the next one may
            frame.floor, frame.has_changed = 0, True
            return NEVER
        frame.floor = handler.depth
        if frame.depth < handler.depth:
            fail(layout.instructions[index], f"has a handler that keeps {handler.depth} of {frame.depth} values")
        depth, special = frame.depth, frame.special
        frame.drop(depth - handler.depth)
        if handler.lasti:
            frame.push(LAST_INSTRUCTION)
        frame.push(EXCEPTION)
        if self.arrive(handler.target):
            heapq.heappush(self.waiting, handler.target)
        frame.depth, frame.special = depth, special
        return frame.guard()

    def enter_block(self, index: int) -> int:
        """Follow an exception to the handler of the innermost block, in versions without an exception table."""
        frame, layout = self.frame, self.layout
        frame.has_sunk = False
        blocks = (layout.blocks[index] if index < len(layout.blocks) else None) or ()
        self.set_floor(index, blocks)
        setups = [block.setup for block in blocks if not block.is_handler]
        if setups:
            depth, special = frame.depth, frame.special
            level = layout.levels[setups[-1]]
            low = layout.lows.get(setups[-1], level)
            frame.drop(depth - low)
            for kind in (*[GONE] * (level - low), *ENTRIES):
                frame.push(kind)
            if frame.depth > layout.code.co_stacksize:
                fail(layout.instructions[index], f"has a handler that needs a stack of {frame.depth}")
            target = layout.targets[setups[-1]]
            if self.arrive(target):
                heapq.heappush(self.waiting, target)
            frame.depth, frame.special = depth, special
        return frame.guard()

    def set_floor(self, index: int, blocks: Blocks) -> None:
        """Find out what the innermost block keeps of the stack; one that may sink keeps no more than there is."""
        frame, layout = self.frame, self.layout
        frame.floor, frame.block = 0, -1
        if not blocks:
            return
        setup, is_handler = blocks[-1]
        frame.floor = layout.levels[setup] + 3 * is_handler
        if not is_handler and layout.may_sink(setup):
            frame.block = setup
            if frame.depth < frame.floor:
                layout.sink(setup, frame.depth)
            frame.floor = layout.lows.get(setup, frame.floor)
        elif frame.depth < frame.floor:
            fail(layout.instructions[index], f"has a block that keeps {frame.floor} of {frame.depth} values")

    def arrive(self, index: int) -> bool:
        """Join the state of the frame with the one known at `index`; return whether that has grown."""
        frame, known = self.frame, self.states.get(index)
        if known is None:
            self.states[index] = (frame.depth, frame.special, frame.held)
            return True
        depth, special, held = known
        if depth != frame.depth:
            raw = self.layout.instructions[index]
            fail(raw, f"is reached with {depth} and with {frame.depth} values on the stack")
        both = special if special is frame.special else joined(special, frame.special)
        if both is special and frame.held | held == held:
            return False
        self.visits[index] = self.visits.get(index, 0) + 1
        if self.visits[index] > MOST_VISITS:
            raise Malformed("too many different states meet in one place")
        self.states[index] = (depth, both, frame.held | held)
        return True
