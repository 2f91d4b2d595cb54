"""Answers that are kept with their program: it never changes, and each inlined comprehension asks about all of it."""

from __future__ import annotations

import functools
from typing import Callable, TypeVar

from depyf.decompiler.bytecode.microops import Program

Answer = TypeVar("Answer")


def answered_once(question: Callable[[Program], Answer]) -> Callable[[Program], Answer]:
    """Make a function of a program that computes its answer once for each program."""
    name = f"{question.__module__}.{question.__qualname__}"

    @functools.wraps(question)
    def ask(program: Program) -> Answer:
        if name not in program.answers:
            program.answers[name] = question(program)
        answer: Answer = program.answers[name]
        return answer

    return ask
