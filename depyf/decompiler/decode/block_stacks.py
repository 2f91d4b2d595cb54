"""Block stacks (3.7 to 3.10) -> handlers, and the six values that a handler finds there -> those of 3.11.

SETUP_FINALLY and SETUP_WITH push a block, POP_BLOCK pops it. An exception pops the innermost block, cuts the stack to
its level and pushes six entries: traceback, value and type of the exception handled before, then those of the new one;
a block of the handler stays until POP_EXCEPT takes the first three back (Python/ceval.c, `exception_unwind`).

Micro-ops are those of 3.11: a handler finds the exception, PUSH_EXC_INFO saves the one before below it, and a handler
under the handler restores it when an exception leaves. A call inside a block may take values from below its level
(Dynamo makes such code): the handler keeps what is left in all places inside. So every path is followed with its
blocks; entries that carry nothing of their own (types, tracebacks) are marked, and the ops that only move or drop them
are left out. An op that is reached with different stacks of blocks is written once for each.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import ENDS, STORES, Handler, Op, depth_needed, stack_effect
from depyf.decompiler.decode import finally_ops
from depyf.decompiler.decode.stack_marks import (
    ERASED,
    KEYS,
    LASTI,
    OLD,
    PREVIOUS,
    SUBJECT,
    TRACEBACK,
    TYPE,
    UNUSED,
    VALUE,
    Block,
    Context,
    Marks,
    below,
    erased_above,
    is_object,
    mark_at,
)
from depyf.decompiler.decode.stack_moves import fold_stack_moves, rest_of_mapping, rotation, with_swaps

MOST_CONTEXTS = 3  # for each op, on average
MOST_BLOCKS = 100  # open at once; CPython's compiler stops at 20
SETUPS = frozenset({"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"})
_FOLLOWED = SETUPS | {"REST_OF_MAPPING", "BEGIN_FINALLY", "CALL_FINALLY", "EXC_COMPARE"}


def unstacked(ops: List[Op], gone: str) -> Tuple[List[Op], List[Handler]]:
    """Return the ops with a handler each where they have one, and the handlers. Targets are indices already."""
    fold_stack_moves(ops, gone)
    if any(op.kind in _FOLLOWED for op in ops):
        return Unstacker(ops, gone).run()
    return with_swaps(ops), []


class _Step(NamedTuple):
    """What a context becomes."""

    ops: List[Op]  # targets are contexts, see `Unstacker.targets`
    following: Optional[Context]


class Unstacker:
    def __init__(self, ops: List[Op], gone: str) -> None:
        self.ops = ops
        self.gone = gone
        self.steps: Dict[Context, _Step] = {}
        self.targets: Dict[int, Context] = {}  # id of a new op -> where it jumps
        self.work: List[Context] = []
        self.handlers: List[Handler] = []
        self.entries: List[Context] = []  # of each handler; a clean-up has that of the handler that it is under
        self.numbers: Dict[Tuple[Tuple[Block, ...], Marks], int] = {}
        self.cleanups: List[Tuple[int, List[Op]]] = []  # (number of the handler, its ops)
        self.lows: Dict[int, int] = {}  # target of a block -> the lowest depth inside it, where that is below its level

    def run(self) -> Tuple[List[Op], List[Handler]]:
        """Follow all paths, again if a block keeps less than it had at its start; then write down what was found."""
        lows: Optional[Dict[int, int]] = None
        while lows != self.lows:
            lows = dict(self.lows)
            self.follow()
        return self.written(), self.handlers

    def follow(self) -> None:
        """Follow all paths."""
        for found in (self.steps, self.targets, self.numbers, self.handlers, self.entries, self.cleanups):
            found.clear()
        first = Context(0, 0, (), ())
        self.work.append(first)
        while self.work:
            context = self.work.pop()
            while context not in self.steps:
                if len(self.steps) > MOST_CONTEXTS * len(self.ops) + 100:
                    raise Malformed("too many different block stacks meet")
                if context.at >= len(self.ops):
                    raise Malformed("control runs off the end of the code")
                step = self.steps[context] = self.step(context)
                if step.following is None:
                    break
                context = step.following

    # What one op does.

    def step(self, context: Context) -> _Step:
        """Return the ops that a context becomes, and the next one."""
        op = self.ops[context.at]
        if op.kind == self.gone:
            return _Step([], context._replace(at=context.at + 1))
        if context.blocks and context.blocks[-1].kind == "entry":
            return self.entered(context, op)
        special = _SPECIAL.get(op.kind)
        new: List[Op] = []
        after = self.plain(context, op, new) if special is None else special(self, context, op, new)
        handler = self.handler_of(context.blocks, context.marks)
        for one in new:
            if one.handler == -1:
                one.handler = handler
        for one in new:
            one.handler = max(one.handler, -1)
        return _Step(new, None if op.kind in ENDS else after)

    def entered(self, context: Context, op: Op) -> _Step:
        """Begin a handler: the exception that was handled before is saved once, even if the code jumps back here."""
        *outer, block = context.blocks
        inside = context._replace(blocks=(*outer, block._replace(kind="handler")))
        handler = self.handler_of(inside.blocks, inside.marks)
        return _Step([Op("PUSH_EXC_INFO", None, op.offset, handler=handler)], inside)

    def plain(self, context: Context, op: Op, new: List[Op]) -> Context:
        """Keep an op that has no business with blocks."""
        index, depth, marks, blocks = context
        popped, pushed = stack_effect(op)
        if marks:
            lowest = depth - max(popped, depth_needed(op))
            if marks[-1][0] >= lowest and any(at >= lowest and not is_object(mark) for at, mark in marks):
                raise Malformed(f"the instruction at {op.offset} uses what a handler found on the stack")
            marks = below(marks, depth - popped)
        if depth < popped:
            raise Malformed(f"the instruction at {op.offset} takes more than the stack holds")
        for block in blocks:
            if block.kind == "finally" and block.level > depth - popped:
                self.lows[block.target] = min(depth - popped, self.lows.get(block.target, depth))
        copy = Op(op.kind, op.arg, op.offset)
        new.append(copy)
        after = Context(index + 1, depth - popped + pushed, marks, blocks)
        if op.target >= 0:
            exhausted = op.kind == "FOR_ITER"
            self.jump(copy, Context(op.target, depth - 1 if exhausted else after.depth, marks, blocks))
        return after

    def jump(self, op: Op, context: Context) -> None:
        """Let a new op jump to a context."""
        self.targets[id(op)] = context
        if context not in self.steps:
            self.work.append(context)

    def copied(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        place = depth - op.arg
        mark = mark_at(marks, place)
        if mark in (PREVIOUS, LASTI, OLD, TRACEBACK) or place < 0:
            raise Malformed(f"the instruction at {op.offset} copies what a handler found on the stack")
        if mark in ERASED:
            return Context(index + 1, depth + 1, (*marks, (depth, str(mark))), blocks)
        new.append(Op("COPY", op.arg - erased_above(marks, place), op.offset))
        return Context(index + 1, depth + 1, marks, blocks)

    def constant(self, context: Context, op: Op, new: List[Op]) -> Context:
        """Leave out the None that 3.8 keeps below a `try` whose `finally` leaves a loop: nothing uses it."""
        index, depth, marks, blocks = context
        following = [one.kind for one in self.ops[index + 1 : index + 2]]
        if op.arg is not None or following != ["SETUP_FINALLY"]:
            return self.plain(context, op, new)
        return Context(index + 1, depth + 1, (*marks, (depth, UNUSED)), blocks)

    def dropped(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        if depth < 1:
            raise Malformed(f"the instruction at {op.offset} takes more than the stack holds")
        mark = mark_at(marks, depth - 1)
        if mark in (PREVIOUS, LASTI):
            raise Malformed(f"the instruction at {op.offset} drops a saved exception")
        if mark not in ERASED:
            new.append(Op("POP", None, op.offset))
        return Context(index + 1, depth - 1, below(marks, depth - 1), blocks)

    def rotated(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        lowest, top = depth - op.arg, depth - 1
        if lowest < 0:
            raise Malformed(f"the instruction at {op.offset} takes more than the stack holds")
        if mark_at(marks, top) not in ERASED:
            new.extend(rotation(op.arg - erased_above(marks, lowest - 1), op.offset))
        if marks and marks[-1][0] >= lowest:
            moved = [(at if at < lowest else lowest if at == top else at + 1, mark) for at, mark in marks]
            marks = tuple(sorted(moved))
        return Context(index + 1, depth, marks, blocks)

    def set_up(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        level, after = depth, depth
        if op.kind == "SETUP_WITH":
            self.check_plain(context, op, 1)
            copy = Op("BEFORE_WITH", None, op.offset)
            new.append(copy)
            after = depth + 1
        elif op.kind == "SETUP_ASYNC_WITH":
            level -= 1
        if len(blocks) >= MOST_BLOCKS:
            raise Malformed(f"more than {MOST_BLOCKS} blocks are open at {op.offset}")
        kind = "finally" if op.kind == "SETUP_FINALLY" else "with"
        if kind == "finally":
            level = min(level, self.lows.get(op.target, level))
        block = Block(kind, op.target, level, kind == "with" or self.unbinds_name(context, op))
        return Context(index + 1, after, marks, (*blocks, block))

    def unbinds_name(self, context: Context, op: Op) -> bool:
        """Return whether a block is the one that the compiler puts around the body of `except E as e`."""
        index, depth, _, blocks = context
        around = blocks[-1] if blocks else None
        if around is None or around.kind != "handler" or depth != around.level + 3 or index < 2:
            return False
        handler = self.ops[op.target : op.target + 4]
        store, drop = self.ops[index - 2 : index]
        if [one.kind for one in handler[-1:]] != ["RERAISE"] or len(handler) != 4 or drop.kind != "POP":
            return False
        kinds = [store.kind, store.kind.replace("STORE", "DELETE")]
        return (
            store.kind in STORES
            and [one.kind for one in handler[1:3]] == kinds
            and handler[1].arg == handler[2].arg == store.arg
            and handler[0].kind == "CONST"
            and handler[0].arg is None
        )

    def block_popped(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        if not blocks or blocks[-1].kind not in ("finally", "with"):
            raise Malformed(f"POP_BLOCK at {op.offset} finds no block")
        return Context(index + 1, depth, marks, blocks[:-1])

    def check_plain(self, context: Context, op: Op, count: int) -> None:
        """Raise Malformed unless the top entries are objects of the program."""
        if context.depth < count or mark_at(context.marks, context.depth - count, above=True):
            raise Malformed(f"the instruction at {op.offset} uses what a handler found on the stack")

    def exception_popped(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        block = blocks[-1] if blocks else None
        if block is None or block.kind != "handler" or depth - block.level not in (3, 4):
            raise Malformed(f"POP_EXCEPT at {op.offset} finds no saved exception")
        found = [mark for at, mark in marks if at >= depth - 3]
        if found != [LASTI if block.has_lasti else OLD, OLD, PREVIOUS]:
            raise Malformed(f"POP_EXCEPT at {op.offset} finds no saved exception")
        outside = self.handler_of(blocks[:-1], marks)
        outside = outside if outside >= 0 else _NO_HANDLER
        new.append(Op("POP_EXCEPT", None, op.offset, handler=outside))
        if block.has_lasti:
            new.append(Op("POP", None, op.offset, handler=outside))
        return Context(index + 1, depth - 3, below(marks, depth - 3), blocks[:-1])

    def raised_again(self, context: Context, op: Op, new: List[Op]) -> Context:
        _, depth, marks, blocks = context
        if [mark for at, mark in marks if at >= depth - 3] != [TRACEBACK, VALUE, TYPE]:
            raise Malformed(f"RERAISE at {op.offset} finds no exception")
        block = blocks[-1] if blocks else None
        lasti = 0
        if block is not None and block.has_lasti and depth == block.level + 6:
            lasti = 2 if block.kind == "handler" else 1
        new.append(Op("RERAISE", lasti, op.offset))
        return context

    def matched(self, context: Context, op: Op, new: List[Op]) -> Context:
        """Translate JUMP_IF_NOT_EXC_MATCH: copied type, expected type -> nothing."""
        index, depth, marks, blocks = context
        if [(at - depth, mark) for at, mark in marks if at >= depth - 4] != [(-4, VALUE), (-3, TYPE), (-2, TYPE)]:
            raise Malformed(f"the instruction at {op.offset} finds no exception")
        new.append(Op("CHECK_EXC_MATCH", None, op.offset))
        branch = Op("BRANCH_FALSE", None, op.offset)
        new.append(branch)
        marks = below(marks, depth - 2)
        self.jump(branch, Context(op.target, depth - 2, marks, blocks))
        return Context(index + 1, depth - 2, marks, blocks)

    def exit_called(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        block = blocks[-1] if blocks else None
        if block is None or block.kind != "handler" or not block.has_lasti or depth != block.level + 6:
            raise Malformed(f"WITH_EXCEPT_START at {op.offset} is not where a handler of `with` begins")
        new.append(Op("WITH_EXCEPT_START", None, op.offset))
        return Context(index + 1, depth + 1, marks, blocks)

    def async_loop_ended(self, context: Context, op: Op, new: List[Op]) -> Context:
        index, depth, marks, blocks = context
        block = blocks[-1] if blocks else None
        if block is None or block.kind != "bare" or depth != block.level + 6 or not block.level:
            raise Malformed(f"END_ASYNC_FOR at {op.offset} is not where a handler begins")
        new.append(Op("END_ASYNC_FOR", None, op.offset))
        return Context(index + 1, block.level - 1, below(marks, block.level - 1), blocks[:-1])

    def keys_matched(self, context: Context, op: Op, new: List[Op]) -> Context:
        """Keep MATCH_KEYS, and mark how many keys there are, for COPY_DICT_WITHOUT_KEYS."""
        after = self.plain(context, op, new)
        made = self.ops[context.at - 1]
        is_constant = made.kind == "CONST" and isinstance(made.arg, tuple)
        count = len(made.arg) if is_constant else made.arg if made.kind == "BUILD_TUPLE" else -1
        if count < 0 or mark_at(context.marks, context.depth - 1) is not None:
            return after
        return after._replace(marks=(*after.marks, (context.depth - 1, f"{KEYS}{count}")))

    def rest_copied(self, context: Context, op: Op, new: List[Op]) -> Context:
        """Translate COPY_DICT_WITHOUT_KEYS: the subject below stays, and only to be dropped."""
        index, depth, marks, blocks = context
        keys = mark_at(marks, depth - 1) or ""
        if not keys.startswith(KEYS) or depth < 2 or mark_at(marks, depth - 2) is not None:
            raise Malformed(f"COPY_DICT_WITHOUT_KEYS at {op.offset} finds no keys")
        new.extend(rest_of_mapping(int(keys[len(KEYS) :]), op.offset))
        return Context(index + 1, depth, (*below(marks, depth - 2), (depth - 2, SUBJECT)), blocks)

    # Handlers.

    def handler_of(self, blocks: Tuple[Block, ...], marks: Marks) -> int:
        """Return the number of the handler that an exception finds; -1 if it leaves the frame."""
        while blocks and blocks[-1].kind == "bare":
            blocks = blocks[:-1]
        if not blocks:
            return -1
        block = blocks[-1]
        kept = block.level + 3 if block.kind == "handler" else block.level
        marks = below(marks, kept)
        key = (blocks, marks)
        if key not in self.numbers:
            number = self.numbers[key] = len(self.handlers)
            is_cleanup = block.kind == "handler"
            has_lasti = is_cleanup or block.has_lasti
            self.handlers.append(Handler(-1, kept - len([0 for _, mark in marks if mark in ERASED]), has_lasti))
            if is_cleanup:
                self.add_cleanup(number, blocks, marks)
            else:
                entry = self.entry(blocks, marks)
                self.entries.append(entry)
                self.work.append(entry)
        return self.numbers[key]

    def add_cleanup(self, number: int, blocks: Tuple[Block, ...], marks: Marks) -> None:
        """Write the handler under a handler, which restores the exception handled before."""
        offset = self.ops[blocks[-1].target].offset
        ops = [Op("COPY", 3, offset), Op("POP_EXCEPT", None, offset), Op("RERAISE", 1, offset)]
        self.entries.append(Context(-1, 0, (), ()))
        self.cleanups.append((number, ops))
        outside = self.handler_of(blocks[:-1], marks)
        for op in ops:
            op.handler = outside

    def entry(self, blocks: Tuple[Block, ...], marks: Marks) -> Context:
        """Return the context in which a handler begins."""
        block = blocks[-1]
        level = block.level
        is_bare = self.ops[block.target].kind == "END_ASYNC_FOR" or (block.kind == "finally" and block.has_lasti)
        lowest = LASTI if block.has_lasti else OLD
        found = (lowest, OLD, OLD if is_bare else PREVIOUS, TRACEBACK, VALUE, TYPE)
        marks = (*marks, *((level + place, mark) for place, mark in enumerate(found)))
        inside = Block("bare" if is_bare else "entry", block.target, level, block.has_lasti)
        return Context(block.target, level + 6, marks, (*blocks[:-1], inside))

    # Writing.

    def written(self) -> List[Op]:
        """Return the new ops in the order of the old ones, with jumps where paths do not continue with the next."""
        written: List[Op] = []
        places: Dict[Context, int] = {}
        for first in sorted(self.steps, key=_order):
            context: Optional[Context] = first
            while context is not None and context not in places:
                places[context] = len(written)
                step = self.steps[context]
                written.extend(step.ops)
                if step.following is not None and step.following in places:
                    jump = Op("JUMP", None, self.ops[context.at].offset)
                    self.targets[id(jump)] = step.following
                    jump.handler = self.handler_of(context.blocks, context.marks)
                    written.append(jump)
                context = step.following
        for op in written:
            if id(op) in self.targets:
                op.target = places[self.targets[id(op)]]
        for handler, entry in zip(self.handlers, self.entries):
            if entry.at >= 0:
                handler.target = places[entry]
        for number, ops in self.cleanups:
            self.handlers[number].target = len(written)
            written.extend(ops)
        return written


_NO_HANDLER = -2  # while an op is made: it is under none, whatever its context is


def _order(context: Context) -> Tuple[int, bool]:
    return context.at, not context.blocks or context.blocks[-1].kind != "entry"


_SPECIAL: Dict[str, Callable[[Unstacker, Context, Op, List[Op]], Context]] = {
    **dict.fromkeys(SETUPS, Unstacker.set_up),
    "COPY": Unstacker.copied, "POP": Unstacker.dropped, "ROTATE": Unstacker.rotated,
    "POP_BLOCK": Unstacker.block_popped, "POP_EXCEPT": Unstacker.exception_popped,
    "RERAISE": Unstacker.raised_again, "EXC_MATCH": Unstacker.matched,
    "WITH_EXCEPT_START": Unstacker.exit_called, "END_ASYNC_FOR": Unstacker.async_loop_ended,
    "MATCH_KEYS": Unstacker.keys_matched, "REST_OF_MAPPING": Unstacker.rest_copied,
    "CONST": Unstacker.constant,
    "BEGIN_FINALLY": finally_ops.entered, "CALL_FINALLY": finally_ops.entered, "END_FINALLY": finally_ops.left,
    "POP_FINALLY": finally_ops.left, "EXC_COMPARE": finally_ops.compared, "WITH_CLEANUP_START": finally_ops.exit_called,
    "WITH_CLEANUP_FINISH": finally_ops.exit_ended, "JUMP_IF_SWALLOWED": finally_ops.exit_tested,
    "WITH_SWALLOWED": finally_ops.swallowed,
}  # fmt: skip
