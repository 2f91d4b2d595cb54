"""Handlers that only restore the variables of an inlined comprehension.

From 3.12 on the compiler inlines comprehensions into the function around them, and adds a handler: when an exception
leaves the comprehension, its variables get back the values that they had before, and the exception is reraised. Where
a graph breaks inside a comprehension, Dynamo copies it into a function of its own, without any handler; source text
can spell it only as a comprehension, which has one.

Such a handler moves values between the stack and locals and raises the same exception again. It calls nothing. If no
other handler is outside it, its effect can be observed in one place alone: among the locals of the frame in the
exception's traceback. (The handler releases what the variables held; without it the traceback keeps those values.)
So the two codes are the same program apart from that, which `Assumption.NOT_SEEN_IN_TRACEBACKS` states.

What else the stack holds dies on the way out of the frame, from the top down, with or without such handlers. Not so if
one handler leads to another that stores the same variable, as with a comprehension inside another: the value that the
first put back dies when the second does, after entries that were below it. `Assumption.RELEASE_ORDER` states that.
"""

from __future__ import annotations

from typing import List, Set

from depyf.decompiler.bytecode.microops import Op, Program

_EXCEPTION, _OFFSET = -1, -2  # entries that are no values of the frame; a value is its place on the stack


class _WayOut:
    """What an exception does on its way out of the frame."""

    def __init__(self, depth: int) -> None:
        self.stack: List[int] = list(range(depth))
        self.dropped: List[int] = []  # entries, in order
        self.stored: List[str] = []  # variables, in order

    def cut(self, depth: int) -> None:
        """Drop the entries above `depth`, from the top down."""
        self.dropped += self.stack[depth:][::-1]
        del self.stack[depth:]

    def move(self, op: Op) -> bool:
        """Run an op that moves values between the stack and locals; return False for any other."""
        stack = self.stack
        if op.kind == "SWAP" and op.arg <= len(stack):
            stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
        elif op.kind == "POP" and stack and stack[-1] != _EXCEPTION:
            self.dropped.append(stack.pop())
        elif op.kind == "STORE_LOCAL" and stack and stack[-1] != _EXCEPTION:
            stack.pop()
            self.stored.append(op.arg)
        else:
            return False
        return True

    def keeps_order(self) -> bool:
        """Return whether values die from the top of the stack down, but for those that variables hold at the end."""
        values = [entry for entry in self.dropped if entry >= 0]
        return values == sorted(values, reverse=True) and len({*self.stored}) == len(self.stored)


def without_restoring_handlers(program: Program) -> Program | None:
    """Return the program without its handlers, or None unless each only restores variables and reraises."""
    if not program.handlers or any(_way_out(program, number) is None for number in range(len(program.handlers))):
        return None
    ops = tuple([Op(op.kind, op.arg, op.offset, op.target) for op in program.ops])
    return Program(ops, (), program.code, program.version)


def handlers_keep_order(program: Program) -> bool:
    """Return whether values die in the same order, with the handlers of this program that restore variables or not."""
    ways = [_way_out(program, number) for number in range(len(program.handlers))]
    return all(way is not None and way.keeps_order() for way in ways)


def _way_out(program: Program, number: int) -> _WayOut | None:
    """Follow an exception from a handler out of the frame; None if more is done there than storing locals."""
    passed: Set[int] = set()
    way = _WayOut(program.handlers[number].depth)
    while number >= 0:
        handler = program.handlers[number]
        if number in passed or len(way.stack) < handler.depth:
            return None
        passed.add(number)
        way.cut(handler.depth)
        way.stack += [_OFFSET, _EXCEPTION] if handler.lasti else [_EXCEPTION]
        at = handler.target
        while program.ops[at].kind != "RERAISE":
            if not way.move(program.ops[at]):
                return None
            at += 1
        if not way.stack or way.stack.pop() != _EXCEPTION:
            return None
        number = program.ops[at].handler
    way.cut(0)
    return way
