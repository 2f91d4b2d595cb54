"""Parts of `finally` and `with` that only 3.7 and 3.8 have, each in a copy whose way in is certain -> the ops of 3.11.

See finally_copies.py for what the parts mean. The functions are those of `block_stacks`: they append ops to `new` and
return the context behind the instruction.
"""

from __future__ import annotations

from typing import List, Protocol

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import PLAIN, Op
from depyf.decompiler.decode.stack_marks import TRACEBACK, TYPE, UNUSED, VALUE, WAY, Context, below, mark_at


class Unstacker(Protocol):
    """What the functions here need of the one in `block_stacks`."""

    def jump(self, op: Op, context: Context) -> None:
        """Let a new op jump to a context."""

    def exception_popped(self, context: Context, op: Op, new: List[Op]) -> Context:
        """End the handler that is open."""


def entered(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate BEGIN_FINALLY and CALL_FINALLY."""
    index, depth, marks, blocks = context
    return Context(index + 1, depth + 1, (*marks, (depth, WAY)), blocks)


def left(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate END_FINALLY, and POP_FINALLY with a value to be returned above the entry that it takes."""
    index, depth, marks, blocks = context
    above = op.arg if op.kind == "POP_FINALLY" else 0
    place = depth - 1 - above
    if mark_at(marks, place) != WAY:
        raise Malformed(f"{op.kind} at {op.offset} does not find how the body was entered")
    if above and mark_at(marks, depth - 1) is not None:
        raise Malformed(f"{op.kind} at {op.offset} finds no value above what it takes")
    return Context(index + 1, depth - 1, below(marks, place), blocks)


def compared(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate COMPARE_OP for exceptions: copied type, expected type -> bool."""
    index, depth, marks, blocks = context
    if [(at - depth, mark) for at, mark in marks if at >= depth - 4] != [(-4, VALUE), (-3, TYPE), (-2, TYPE)]:
        raise Malformed(f"the instruction at {op.offset} finds no exception")
    new.append(Op("CHECK_EXC_MATCH", None, op.offset))
    return Context(index + 1, depth - 1, below(marks, depth - 2), blocks)


def exit_called(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate WITH_CLEANUP_START: the exit method is called with three None or with the exception."""
    index, depth, marks, blocks = context
    if op.arg:
        block = blocks[-1] if blocks else None
        if block is None or block.kind != "handler" or not block.has_lasti or depth != block.level + 6:
            raise Malformed(f"WITH_CLEANUP_START at {op.offset} is not where a handler of `with` begins")
        new.append(Op("WITH_EXCEPT_START", None, op.offset))
        return Context(index + 1, depth + 2, (*marks, (depth, UNUSED)), blocks)
    if depth < 2 or mark_at(marks, depth - 1) != WAY or mark_at(marks, depth - 2) is not None:
        raise Malformed(f"WITH_CLEANUP_START at {op.offset} finds no exit method")
    new.extend(Op("CONST", None, op.offset) for _ in range(3))
    new.append(Op("CALL", (3, None, PLAIN), op.offset))
    return Context(index + 1, depth + 1, (*below(marks, depth - 2), (depth - 2, WAY), (depth - 1, UNUSED)), blocks)


def exit_ended(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate WITH_CLEANUP_FINISH where nothing was raised: the result is dropped."""
    index, depth, marks, blocks = context
    if [mark_at(marks, depth - place) for place in (1, 2, 3)] != [None, UNUSED, WAY]:
        raise Malformed(f"WITH_CLEANUP_FINISH at {op.offset} finds no result of an exit method")
    new.append(Op("POP", None, op.offset))
    return Context(index + 1, depth - 2, below(marks, depth - 2), blocks)


def exit_tested(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Translate WITH_CLEANUP_FINISH after an exception: a true result swallows it."""
    index, depth, marks, blocks = context
    if [mark_at(marks, depth - place) for place in (1, 2, 3, 4, 5)] != [None, UNUSED, TYPE, VALUE, TRACEBACK]:
        raise Malformed(f"WITH_CLEANUP_FINISH at {op.offset} finds no result of an exit method")
    branch = Op("BRANCH_TRUE", None, op.offset)
    new.append(branch)
    after = Context(index + 1, depth - 2, below(marks, depth - 2), blocks)
    unstacker.jump(branch, after._replace(at=op.target))
    return after


def swallowed(unstacker: Unstacker, context: Context, op: Op, new: List[Op]) -> Context:
    """Drop the exception, the saved one and the exit method, as later compilers write it."""
    index, depth, marks, blocks = context
    block = blocks[-1] if blocks else None
    if block is None or depth != block.level + 6:
        raise Malformed(f"the `with` statement that ends at {op.offset} does not find its handler")
    new.append(Op("POP", None, op.offset))
    handled = context._replace(depth=depth - 3, marks=below(marks, depth - 3))
    after = unstacker.exception_popped(handled, op, new)
    new.append(Op("POP", None, op.offset, handler=new[-1].handler))
    level = after.depth - 1  # without the exit method
    return Context(index + 1, level + 1, (*below(after.marks, level), (level, WAY)), after.blocks)
