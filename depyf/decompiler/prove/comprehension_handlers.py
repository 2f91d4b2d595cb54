"""Handlers that only put the variables of a comprehension back.

From 3.12 on the compiler writes comprehensions into the function around them, and adds a handler: when an exception
leaves the comprehension, its variables get the values again that they had before, and the exception goes on. Where a
graph breaks in a comprehension, Dynamo copies it into a function of its own, without any handler; a text can say it
only as a comprehension, which has one.

Such a handler moves values between the stack and locals and raises the same exception again. It calls nothing. If no
other handler is outside it, what it has done can be seen in one place alone: among the locals of the frame in the
exception's traceback. (What the variables held is let go of there; without the handler the traceback keeps it.)
So both codes are the same program but for that, and `Assumption.NOT_SEEN_IN_TRACEBACKS` says so.
"""

from __future__ import annotations

from typing import List, Set

from depyf.decompiler.bytecode.microops import Op, Program


def without_restoring(program: Program) -> Program | None:
    """The program without its handlers, if each of them only restores variables and lets the exception go on."""
    if not program.handlers or not all(_restores(program, number) for number in range(len(program.handlers))):
        return None
    ops = tuple([Op(op.kind, op.arg, op.offset, op.target) for op in program.ops])
    return Program(ops, (), program.code, program.version)


def _restores(program: Program, number: int) -> bool:
    """Whether an exception that comes to a handler leaves the frame, and on the way only locals are stored."""
    passed: Set[int] = set()
    while number >= 0 and number not in passed:
        passed.add(number)
        handler = program.handlers[number]
        # True is the exception; what is below is nobody's business here.
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
    """Do an op that moves values between the stack and locals; False for any other."""
    if op.kind == "SWAP" and op.arg <= len(stack):
        stack[-1], stack[-op.arg] = stack[-op.arg], stack[-1]
    elif op.kind in ("POP", "STORE_LOCAL") and stack and not stack[-1]:
        stack.pop()
    else:
        return False
    return True
