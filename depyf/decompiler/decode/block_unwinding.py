"""Blocks of 3.7, where loops are blocks, too: the instructions that leave blocks -> those that 3.8 writes for it.

In 3.7 `return`, `break` and `continue` are one instruction each, wherever they are: the interpreter pops the blocks
that are open, cuts the stack to the level of each, and enters the `finally` bodies on the way with the reason on top of
the stack; END_FINALLY then leaves the next blocks (`fast_block_end` in Python/ceval.c). Since 3.8 compilers write that
out. So every path is followed with its open blocks and the depth of the stack, as in `finally_copies`, and the
instructions of that module are written:

    SETUP_LOOP, and POP_BLOCK for it   nothing
    SETUP_EXCEPT                       SETUP_FINALLY
    POP_BLOCK, LOAD_CONST None         before a `finally` body: POP_BLOCK, BEGIN_FINALLY
    RETURN_VALUE, BREAK_LOOP, CONTINUE_LOOP, END_FINALLY   what leaves the blocks, one after the other
    LOAD_CONST before RETURN_VALUE     stands behind that
    SETUP_EXCEPT of an `async for`     the request for the next item alone is under the handler; the argument of
                                       GET_ANEXT is how many operations of the assignment are, too
    its handler                        END_ASYNC_FOR
"""

from __future__ import annotations

from types import CodeType
from typing import List, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.depth_changes import JUMPS_BY_DEPTH, depth_change
from depyf.decompiler.decode.finally_copies import (
    BLOCK,
    HANDLER,
    LOOP,
    MOST_OPEN,
    NULL,
    Follower,
    Open,
    Place,
    Step,
    Written,
)
from depyf.decompiler.decode.instructions import Raw

_RETURN, _RETURN_CONSTANT, _BREAK, _CONTINUE = "return", "return a constant", "break", "continue"
_SETUPS = ("SETUP_LOOP", "SETUP_EXCEPT", "SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH")
EXIT = "exit"  # the call of the exit method of a `with` that is left
_WITHS = ("SETUP_WITH", "SETUP_ASYNC_WITH")
_SAVED, _FOUND = 3, 6  # entries of the exception that was handled before, and of both
_MATCH = 10  # number of COMPARE_OP
_REQUEST = ["GET_ANEXT", "LOAD_CONST", "YIELD_FROM"]
_TEST = ["DUP_TOP", "LOAD_GLOBAL", "COMPARE_OP", "POP_JUMP_IF_TRUE", "END_FINALLY"]
_DONE = ["POP_TOP", "POP_TOP", "POP_TOP", "POP_EXCEPT", "POP_TOP"]
# The end of `return a < b < c`: the optimizer has put the first in the place of a jump to the last.
_END_OF_CHAIN = ["RETURN_VALUE", "ROT_TWO", "POP_TOP", "RETURN_VALUE"]
# Instructions of an assignment that cannot raise what ends the loop.
_PLAIN = frozenset({
    "STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_CONST", "ROT_TWO",
    "ROT_THREE", "DUP_TOP", "DUP_TOP_TWO",
})  # fmt: skip


def with_blocks_left(instructions: List[Raw], code: CodeType, facts: PythonFacts) -> List[Raw]:
    """Return the instructions of 3.7 as 3.8 and `finally_copies` write them; offsets stay those of the code.

    Raises Malformed where blocks are entered or left in other ways than compilers write, or are too many.
    """
    if not any(raw.opname in _SETUPS for raw in instructions):
        return instructions
    return _Unwinder(instructions, code, facts).run()


class _Unwinder(Follower):
    def __init__(self, instructions: Sequence[Raw], code: CodeType, facts: PythonFacts) -> None:
        super().__init__(instructions, facts)
        self.code = code

    def step(self, place: Place) -> Step:
        """Return what is written for a place, and the next one."""
        index, opened, _, depth = place
        raw = self.instructions[index]
        name = raw.opname
        if name in _SETUPS:
            return self.set_up(place, raw)
        if name in JUMPS_BY_DEPTH:
            taken, not_taken = JUMPS_BY_DEPTH[name]
            target = Place(self.target(raw), opened, depth=depth + taken)
            self.work.append(target)
            following = None if not_taken is None else Place(index + 1, opened, depth=depth + not_taken)
            return Step([(name, 0, target)], following)
        if name == "RAISE_VARARGS":
            return Step([(name, raw.arg, None)], None)
        if opened and self.names(index, 4) == _END_OF_CHAIN:
            return Step([], Place(index + 3, opened, depth=depth))
        if name in ("RETURN_VALUE", "BREAK_LOOP", "CONTINUE_LOOP") or self.is_returned_constant(place):
            return self.leave(place, self.reason(raw))
        if name == "POP_BLOCK":
            return self.pop_block(place, raw)
        if name == "POP_EXCEPT":
            outside = self.without(raw, opened, HANDLER)
            return Step([(name, 0, None)], Place(index + 1, outside, depth=depth - _SAVED))
        if name == "END_FINALLY":
            return self.end_finally(place, raw)
        if name in ("WITH_CLEANUP_START", "WITH_CLEANUP_FINISH"):
            return self.clean_up(place, raw)
        if self.is_test_of_async_loop(place):
            done = self.target(self.instructions[index + 3]) + len(_DONE)
            return Step([("END_ASYNC_FOR", 0, None)], Place(done, opened[:-1], depth=depth - _FOUND - 1))
        return Step([(name, raw.arg, None)], Place(index + 1, opened, depth=depth + depth_change(raw)))

    def origin(self, place: Place) -> int:
        """Return the index of the instruction that a place belongs to: of what leaves a `with`, that leaves it."""
        entry = place.open[-1] if place.open else None
        if entry is None or not entry.why[0]:
            return place.at
        is_left = entry.kind == EXIT or self.names(place.at, 1) == ["END_FINALLY"]
        return entry.at if is_left else place.at

    # Entering and leaving blocks one by one.

    def set_up(self, place: Place, raw: Raw) -> Step:
        """Open a block."""
        index, opened, _, depth = place
        if len(opened) >= MOST_OPEN:
            raise Malformed(f"more than {MOST_OPEN} blocks are open at {raw.offset}")
        if raw.opname == "SETUP_LOOP":
            return Step([], Place(index + 1, (*opened, Open(LOOP, index, depth)), depth=depth))
        level = depth - (raw.opname == "SETUP_ASYNC_WITH")
        target = self.target(raw)
        handler = Place(target, (*opened, Open(HANDLER, target, level, ("", index))), depth=level + _FOUND)
        self.work.append(handler)
        name = "SETUP_FINALLY" if raw.opname == "SETUP_EXCEPT" else raw.opname
        if self.names(index + 1, 3) == _REQUEST and raw.opname == "SETUP_EXCEPT":
            return self.request_next(place, (name, 0, handler))
        after = depth + (raw.opname == "SETUP_WITH")
        return Step([(name, 0, handler)], Place(index + 1, (*opened, Open(BLOCK, index, level)), depth=after))

    def request_next(self, place: Place, setup: Written) -> Step:
        """Write what an `async for` does up to the end of its assignment, which has no jumps."""
        first = place.at + 1 + len(_REQUEST)
        end = next((at for at in range(first, len(self.instructions)) if self.names(at, 1) == ["POP_BLOCK"]), first)
        request, target = self.instructions[place.at + 1 : first], self.instructions[first:end]
        if 1 + sum(map(depth_change, target)) or not target:
            raise Malformed(f"GET_ANEXT at {request[0].offset} has no assignment of its item behind it")
        covered = len([0 for raw in target if raw.opname not in _PLAIN])
        written: List[Written] = [setup, ("GET_ANEXT", covered, None)]
        written += [(raw.opname, raw.arg, None) for raw in request[1:]]
        written += [("POP_BLOCK", 0, None), *((raw.opname, raw.arg, None) for raw in target)]
        return Step(written, Place(end + 1, place.open, depth=place.depth))

    def is_test_of_async_loop(self, place: Place) -> bool:
        """Return whether the handler of an `async for` begins here: it ends the loop after StopAsyncIteration."""
        index, opened, _, depth = place
        if self.names(index, 5) != _TEST or not opened or opened[-1][:2] != (HANDLER, index):
            return False
        _, load, compare, jump, _ = self.instructions[index : index + 5]
        return (
            self.names(opened[-1].why[1] + 1, 3) == _REQUEST
            and self.code.co_names[load.arg : load.arg + 1] == ("StopAsyncIteration",)
            and compare.arg == _MATCH
            and self.names(self.target(jump), 5) == _DONE
            and depth == opened[-1].level + _FOUND
        )

    def names(self, index: int, count: int) -> List[str]:
        """Return the names of some instructions."""
        return [raw.opname for raw in self.instructions[index : index + count]]

    def pop_block(self, place: Place, raw: Raw) -> Step:
        """Close the innermost block; where a `finally` body follows, enter it."""
        index, opened, _, depth = place
        outside = self.without(raw, opened, BLOCK, LOOP)
        block = opened[-1]
        if depth != block.level:
            raise Malformed(f"POP_BLOCK at {raw.offset} finds {depth} values, and its block had {block.level}")
        if block.kind == LOOP:
            return Step([], Place(index + 1, outside, depth=depth))
        setup, following = self.instructions[block.at], self.instructions[index + 1 : index + 2]
        if setup.opname == "SETUP_EXCEPT" or not following or not self.is_none(following[0]):
            return Step([("POP_BLOCK", 0, None)], Place(index + 1, outside, depth=depth))
        if self.target(setup) != index + 2:
            raise Malformed(f"POP_BLOCK at {raw.offset} is not before the `finally` body of its block")
        entered = (*outside, Open(NULL, index, depth))
        return Step([("POP_BLOCK", 0, None), ("BEGIN_FINALLY", 0, None)], Place(index + 2, entered, depth=depth + 1))

    def is_none(self, raw: Raw) -> bool:
        """Return whether an instruction pushes None."""
        return raw.opname == "LOAD_CONST" and self.code.co_consts[raw.arg : raw.arg + 1] == (None,)

    # Parts of `finally` and `with`.

    def end_finally(self, place: Place, raw: Raw) -> Step:
        """End a `finally` body: raise again, continue behind it, or leave more blocks."""
        outside = self.without(raw, place.open, HANDLER, NULL, EXIT)
        entry = place.open[-1]
        if entry.kind == HANDLER:
            return Step([("RERAISE", 0, None)], None)
        ended = Place(place.at + 1, outside, depth=place.depth - 1)
        written: List[Written] = [("END_FINALLY", 0, None)]
        return self.leave(ended, entry.why, written, entry.at) if entry.why[0] else Step(written, ended)

    def clean_up(self, place: Place, raw: Raw) -> Step:
        """Call an exit method, or read its result; see `finally_copies`."""
        index, opened, is_swallowed, depth = place
        outside = self.without(raw, opened, HANDLER, NULL, EXIT)
        has_raised = opened[-1].kind == HANDLER
        if raw.opname == "WITH_CLEANUP_START":
            return Step([(raw.opname, int(has_raised), None)], Place(index + 1, opened, depth=depth + 1 + has_raised))
        if not has_raised:
            return Step([(raw.opname, 0, None)], Place(index + 1, opened, depth=depth - 2))
        if is_swallowed:
            entry = Open(NULL, index, depth - _FOUND - 1)
            return Step([("WITH_SWALLOWED", 0, None)], Place(index + 1, (*outside, entry), depth=depth - _FOUND))
        swallowed = Place(index, opened, True, depth - 2)
        self.work.append(swallowed)
        return Step([("JUMP_IF_SWALLOWED", 0, swallowed)], Place(index + 1, opened, depth=depth - 2))

    # Leaving several at once.

    def is_returned_constant(self, place: Place) -> bool:
        """Return whether a constant is returned out of blocks: it waits until they are left."""
        return bool(place.open) and self.names(place.at, 2) == ["LOAD_CONST", "RETURN_VALUE"]

    def reason(self, raw: Raw) -> Tuple[str, int]:
        """Return why blocks are left, and what it leads to: the number of a constant, or an index."""
        if raw.opname == "LOAD_CONST":
            return _RETURN_CONSTANT, raw.arg
        if raw.opname == "CONTINUE_LOOP":
            return _CONTINUE, self.target(raw)
        return (_RETURN if raw.opname == "RETURN_VALUE" else _BREAK), 0

    def leave(
        self, place: Place, why: Tuple[str, int], before: Sequence[Written] = (), at: Optional[int] = None
    ) -> Step:
        """Leave the open blocks, up to the next `finally` body, the loop in question, or the end of the frame."""
        reason, argument = why
        kept = int(reason == _RETURN)  # values on top that stay
        depth, opened = place.depth, place.open
        written: List[Written] = [*before]
        at = place.at if at is None else at
        while opened:
            entry, opened = opened[-1], opened[:-1]
            setup = self.instructions[entry.at]
            if entry.kind == LOOP and reason == _CONTINUE:
                return Step(written, Place(argument, (*opened, entry), depth=depth))
            if entry.kind == EXIT:
                raise Malformed(f"the `with` statement that ends at {setup.offset} is left while it ends")
            if entry.kind == BLOCK:
                written.append(("POP_BLOCK", 0, None))
            above = {HANDLER: _SAVED, NULL: 1}.get(entry.kind, 0)
            written += _cut(depth, entry.level + above + kept, kept)
            depth = entry.level + kept
            if entry.kind == HANDLER:
                written += [*[("ROT_FOUR", 0, None)] * kept, ("POP_EXCEPT", 0, None)]
            elif entry.kind == NULL:
                written.append(("POP_FINALLY", kept, None))
                if entry.why[0] == _RETURN:  # the value that was to be returned before
                    written += _cut(depth, depth - 1, kept)
                    depth -= 1
            elif entry.kind == LOOP and reason == _BREAK:
                return Step(written, Place(self.target(setup), opened, depth=depth))
            elif entry.kind == BLOCK and setup.opname != "SETUP_EXCEPT":
                is_with = setup.opname in _WITHS
                written += [*[("ROT_TWO", 0, None)] * (kept and is_with), ("BEGIN_FINALLY", 0, None)]
                entered = (*opened, Open(EXIT if is_with else NULL, at, depth, why))
                return Step(written, Place(self.target(setup), entered, depth=depth + 1))
        if reason not in (_RETURN, _RETURN_CONSTANT):
            raise Malformed(f"{self.instructions[at].opname} at {self.instructions[at].offset} is in no loop")
        constant: List[Written] = [("LOAD_CONST", argument, None)] * (1 - kept)
        return Step([*written, *constant, ("RETURN_VALUE", 0, None)], None)


def _cut(depth: int, wanted: int, kept: int) -> List[Written]:
    """Return the instructions that drop entries until as many are left; the value on top stays if it is kept."""
    if depth < wanted:
        raise Malformed(f"the stack has {depth} values where a block had {wanted}")
    drop: List[Written] = [*[("ROT_TWO", 0, None)] * kept, ("POP_TOP", 0, None)]
    return drop * (depth - wanted)
