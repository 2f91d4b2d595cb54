"""Copies of `finally` bodies (3.8): a subroutine -> one copy of its instructions for each way in.

3.8 has a single `finally` body for all ways in. An exception pushes six entries; BEGIN_FINALLY pushes NULL, and control
continues behind END_FINALLY; CALL_FINALLY pushes the offset to return to. END_FINALLY and POP_FINALLY find out which it
was (Python/ceval.c). Here every path is followed with what is open on it, and an instruction is written once for each
of these states: in a copy the way in is certain, as in the copies that later compilers write. So the instructions mean
there (what `block_unwinding` writes for 3.7 means the same):

    BEGIN_FINALLY, CALL_FINALLY   push NULL, push the offset to return to
    END_FINALLY                   takes that entry; control continues with the next instruction, which may be a copy
    RERAISE                       END_FINALLY after an exception
    POP_FINALLY n                 takes that entry from below n others; after an exception it is the instructions of 3.9
    WITH_CLEANUP_START 0 | 1      calls the exit method; 1: with an exception
    WITH_CLEANUP_FINISH           drops its result
    JUMP_IF_SWALLOWED             WITH_CLEANUP_FINISH after an exception; jumps to WITH_SWALLOWED if the result is true
    WITH_SWALLOWED                ends the handler and pushes NULL
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.instructions import RELATIVE, Raw, jump_target

MOST_COPIES = 20  # of each instruction on average
MOST_OPEN = 60  # blocks, handlers and subroutines on one path; CPython's compiler stops at 20 blocks
SUBROUTINE = frozenset({
    "BEGIN_FINALLY", "CALL_FINALLY", "POP_FINALLY", "END_FINALLY", "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH",
})  # fmt: skip
_SETUPS = ("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH")
_JUMPS = frozenset({
    "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "FOR_ITER", "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_TRUE",
})  # fmt: skip
_ENDS = ("RETURN_VALUE", "RAISE_VARARGS")
BLOCK, HANDLER, NULL, ADDRESS = "block", "handler", "null", "address"
LOOP = "loop"  # a block of 3.7, which has no handler


class Open(NamedTuple):
    """What is open on a path: a block, a handler, or a subroutine by the way in."""

    kind: str
    at: int  # index of the instruction that opened it; a handler's is its first
    level: int = 0  # depth of the stack below it; followed for 3.7 alone
    why: Tuple[str, int] = ("", 0)  # 3.7: what entered a subroutine, and what it led to


class Place(NamedTuple):
    """An instruction as reached on some paths."""

    at: int
    open: Tuple[Open, ...]
    is_swallowed: bool = False  # the exit method has just returned a true value
    depth: int = 0  # of the stack; followed for 3.7 alone


Written = Tuple[str, int, Optional[Place]]  # name, argument, where it jumps


class Step(NamedTuple):
    """What a place becomes."""

    written: List[Written]
    following: Optional[Place]


def with_copies(instructions: List[Raw], facts: PythonFacts) -> List[Raw]:
    """Return the instructions with a copy of each `finally` body for each way in; offsets stay those of the code.

    Raises Malformed where subroutines are entered or left in other ways than compilers write, or are too many.
    """
    if not any(raw.opname in SUBROUTINE for raw in instructions):
        return instructions
    return Follower(instructions, facts).run()


class Follower:
    def __init__(self, instructions: Sequence[Raw], facts: PythonFacts) -> None:
        self.instructions = instructions
        self.facts = facts
        self.starts = {raw.start: index for index, raw in enumerate(instructions)}
        self.steps: Dict[Place, Step] = {}
        self.work: List[Place] = []

    def run(self) -> List[Raw]:
        """Follow all paths, then write down what was found."""
        self.work.append(Place(0, ()))
        most = MOST_COPIES * len(self.instructions) + 1000
        while self.work:
            place: Optional[Place] = self.work.pop()
            while place is not None and place not in self.steps:
                if len(self.steps) > most:
                    raise Malformed("there are too many ways into `finally` bodies")
                if place.at >= len(self.instructions):
                    raise Malformed("control runs off the end of the code")
                step = self.steps[place] = self.step(place)
                place = step.following
        return self.written()

    def origin(self, place: Place) -> int:
        """Return the index of the instruction whose offset is that of what is written for a place."""
        return place.at

    def target(self, raw: Raw) -> int:
        """Return the index of the instruction that a jump leads to."""
        place = jump_target(raw, self.facts)
        if place not in self.starts:
            raise Malformed(f"{raw.opname} at {raw.offset} jumps to {place}, where no instruction begins")
        return self.starts[place]

    def step(self, place: Place) -> Step:
        """Return what is written for a place, and the next one."""
        index, opened, is_swallowed, _ = place
        raw = self.instructions[index]
        name, after = raw.opname, Place(index + 1, opened)
        if name in _SETUPS:
            if len(opened) >= MOST_OPEN:
                raise Malformed(f"more than {MOST_OPEN} blocks are open at {raw.offset}")
            handler = Place(self.target(raw), (*opened, Open(HANDLER, self.target(raw))))
            self.work.append(handler)
            return Step([(name, 0, handler)], Place(index + 1, (*opened, Open(BLOCK, index))))
        if name in _JUMPS:
            target = Place(self.target(raw), opened)
            self.work.append(target)
            return Step([(name, 0, target)], None if name in ("JUMP_FORWARD", "JUMP_ABSOLUTE") else after)
        if name in _ENDS:
            return Step([(name, raw.arg, None)], None)
        if name == "POP_BLOCK":
            return Step([(name, 0, None)], Place(index + 1, self.without(raw, opened, BLOCK)))
        if name in ("POP_EXCEPT", "END_ASYNC_FOR"):
            return Step([(name, 0, None)], Place(index + 1, self.without(raw, opened, HANDLER)))
        if name.startswith("ROT_") and self.is_popped_next(place):
            # Neither can raise, and the block does not keep what is moved below its level.
            return Step([("POP_BLOCK", 0, None), (name, 0, None)], Place(index + 2, opened[:-1]))
        if name in SUBROUTINE:
            return self.subroutine(place, raw, is_swallowed)
        return Step([(name, raw.arg, None)], after)

    def is_popped_next(self, place: Place) -> bool:
        """Return whether the next instruction pops the block that is open here."""
        following = self.instructions[place.at + 1 : place.at + 2]
        return bool(following and following[0].opname == "POP_BLOCK" and place.open and place.open[-1][0] == BLOCK)

    def without(self, raw: Raw, opened: Tuple[Open, ...], *kinds: str) -> Tuple[Open, ...]:
        """Return what is open without the innermost, which has to be of one of these kinds."""
        if not opened or opened[-1][0] not in kinds:
            raise Malformed(f"{raw.opname} at {raw.offset} does not find its {kinds[0]}")
        return opened[:-1]

    def subroutine(self, place: Place, raw: Raw, is_swallowed: bool) -> Step:
        """Return what is written for an instruction that enters or leaves a `finally` body or a `with` statement."""
        index, opened = place.at, place.open
        name = raw.opname
        if name == "BEGIN_FINALLY":
            return Step([(name, 0, None)], Place(index + 1, (*opened, Open(NULL, index))))
        if name == "CALL_FINALLY":
            if len(opened) >= MOST_OPEN:
                raise Malformed(f"more than {MOST_OPEN} blocks are open at {raw.offset}")
            return Step([(name, 0, None)], Place(self.target(raw), (*opened, Open(ADDRESS, index))))
        outside = self.without(raw, opened, HANDLER, NULL, ADDRESS)
        kind, entered = opened[-1][:2]
        after, left = Place(index + 1, opened), Place(index + 1, outside)
        has_raised = kind == HANDLER
        if name == "END_FINALLY":
            if has_raised:
                return Step([("RERAISE", 0, None)], None)
            return Step([(name, 0, None)], Place(entered + 1, outside) if kind == ADDRESS else left)
        if name == "POP_FINALLY":
            if raw.arg > 1:
                raise Malformed(f"POP_FINALLY at {raw.offset} has no meaning with the argument {raw.arg}")
            return Step(_POP_RAISED[raw.arg] if has_raised else [(name, raw.arg, None)], left)
        if kind == ADDRESS:
            raise Malformed(f"{name} at {raw.offset} is in a `finally` body")
        if name == "WITH_CLEANUP_FINISH" and has_raised:
            if is_swallowed:
                return Step([("WITH_SWALLOWED", 0, None)], Place(index + 1, (*outside, Open(NULL, index))))
            swallowed = Place(index, opened, True)
            self.work.append(swallowed)
            return Step([("JUMP_IF_SWALLOWED", 0, swallowed)], after)
        return Step([(name, int(has_raised), None)], after)

    def written(self) -> List[Raw]:
        """Return the instructions in the order of the code, with jumps where paths do not continue with the next."""
        parts: List[Tuple[int, str, int, Optional[Place]]] = []  # offset, name, argument, where it jumps
        places: Dict[Place, int] = {}
        for first in sorted(self.steps, key=_order):
            place: Optional[Place] = first
            while place is not None and place not in places:
                places[place] = len(parts)
                offset = self.instructions[self.origin(place)].offset
                step = self.steps[place]
                parts.extend((offset, *part) for part in step.written)
                place = step.following
                if place is not None and place in places:
                    parts.append((offset, "JUMP_ABSOLUTE", 0, place))
        return [self.raw(number, *part, places) for number, part in enumerate(parts)]

    def raw(
        self, number: int, offset: int, name: str, arg: int, target: Optional[Place], places: Dict[Place, int]
    ) -> Raw:
        """Return one instruction at its new place, its jump counted from there."""
        start, after = 2 * number, 2 * number + 2
        if target is not None:
            arg = (2 * places[target] - (after if name in RELATIVE else 0)) // self.facts.jump_unit
        return Raw(offset, start, name, arg, after)


_RESTORE: List[Written] = [("POP_TOP", 0, None)] * 3
_POP_RAISED = {
    0: [*_RESTORE, ("POP_EXCEPT", 0, None)],
    1: [("ROT_FOUR", 0, None), *_RESTORE, ("ROT_FOUR", 0, None), ("POP_EXCEPT", 0, None)],
}


def _order(place: Place) -> Tuple[int, ...]:
    """Return what places are sorted by: a copy is in one piece, behind the instruction that leads to it."""
    ways = [entry.at for entry in place.open if entry.kind not in (BLOCK, LOOP)]
    return (*ways, place.at, int(place.is_swallowed))
