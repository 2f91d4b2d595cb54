"""Handlers that only restore the variables of an inlined comprehension.

From 3.12 on the compiler inlines comprehensions into the function around them, and adds a handler: when an exception
leaves the comprehension, its variables get back the values that they had before, and the exception is reraised. Where
a graph breaks inside a comprehension, Dynamo copies it into a function of its own, without any handler; source text
can spell it only as a comprehension, which has one.

Such a handler moves values between the stack and locals and raises the same exception again. It calls nothing. If no
other handler is outside it, its effect can be observed in one place alone: among the locals of the frame in the
exception's traceback. (The handler releases what the variables held; without it the traceback keeps those values.)
So the two codes are the same program apart from that, which `Assumption.NOT_SEEN_IN_TRACEBACKS` states.
"""

from __future__ import annotations

from typing import List, Set

from depyf.decompiler.bytecode.microops import Op, Program


def without_restoring_handlers(program: Program) -> Program | None:
    """Return the program without its handlers, or None unless each only restores variables and reraises."""
    if not program.handlers or not all(_restores(program, number) for number in range(len(program.handlers))):
        return None
    ops = tuple([Op(op.kind, op.arg, op.offset, op.target) for op in program.ops])
    return Program(ops, (), program.code, program.version)


def _restores(program: Program, number: int) -> bool:
    """Return whether an exception that enters a handler leaves the frame, with only locals stored on the way."""
    passed: Set[int] = set()
    while number >= 0 and number not in passed:
        passed.add(number)
        handler = program.handlers[number]
        # True marks the exception; the entries below it do not matter.
        stack: List[bool] = [False] * (handler.depth + handler.lasti) + [True]
        at = handler.target
        while program.ops[at].kind != "RERAISE":
            if not _moves(program.ops[at], stack):
                return False
            at += 1
        if not stack or not stack[-1]:
            return False
        number = program.ops[at].handler
    return number < 0


def _moves(op: Op, stack: List[bool]) -> bool:
    """Run an op that moves values between the stack and locals; return False for any other."""
    if op.kind == "SWAP" and op.arg <= len(stack):
        stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
    elif op.kind in ("POP", "STORE_LOCAL") and stack and not stack[-1]:
        stack.pop()
    else:
        return False
    return True
