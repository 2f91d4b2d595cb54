"""Judge mutants: those that are still proved must do the same."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from types import CodeType
from typing import Callable, Iterator, Optional

from bench.adversary import code_mutants, source_mutants
from bench.adversary.differences import CRASH, Difference
from bench.adversary.judgement import Judgement, compared, graded, same_bits, with_
from bench.adversary.limits import CPU_SECONDS, Hang, in_child, limited, where
from bench.adversary.random_functions import RandomFunction, compiles
from bench.adversary.runs import Subject, codes_in, subject_of
from depyf.decompiler.attempt import Decompilation
from depyf.decompiler.pipeline import OUT_OF_MEMORY, decompile_frame
from depyf.decompiler.prove import Verdict, prove


def judged_mutants(kind: str, made: RandomFunction, each: int, count: int) -> Iterator[Judgement]:
    """Yield the judgements of some mutants of a function."""
    chance = random.Random(f"{made.seed}:{made.number}:{kind}")
    subject = subject_of(made.source)
    for _ in range(each):
        if kind == "source":
            yield from judged_source(subject, made.number, chance, count)
        else:
            yield from judged_code(subject, made.number, kind, chance, count)


def judged_source(subject: Subject, number: int, chance: random.Random, count: int) -> Iterator[Judgement]:
    """Yield the judgement of one mutant of the source, given to `prove`."""
    name = chance.choice(list(source_mutants.MUTATIONS))
    text = source_mutants.mutated(subject.source, name, chance)
    if text is None or not compiles(text):
        return
    try:
        mutant = subject_of(text).code
    except StopIteration:
        return
    if same_bits(subject.code, mutant) or mutant.co_freevars != subject.code.co_freevars:
        return
    start = Judgement(number, "", mutation=name)
    judgement = bounded(start, mutant, lambda: prove(subject.code, mutant))
    if judgement.grade.startswith("PROVED"):
        judgement = compared(judgement, subject, None, mutant, count)
    yield with_(judgement, mutation=f"{name}\n{text}") if judgement.failed else judgement


def judged_code(subject: Subject, number: int, kind: str, chance: random.Random, count: int) -> Iterator[Judgement]:
    """Yield two judgements of one mutant of the code: against the original, and against its own text."""
    table = code_mutants.BYTECODE if kind == "bytecode" else code_mutants.TABLES
    name = chance.choice(list(table))
    mutant = code_mutants.mutated(subject.code, table[name], chance)
    if mutant is None:
        return
    start = Judgement(number, "", mutation=f"{name}: {code_mutants.change(subject.code, mutant)}")
    judgement = bounded(start, mutant, lambda: prove(subject.code, mutant))
    if judgement.grade.startswith("PROVED") and not same_bits(subject.code, mutant):
        judgement = run_in_child(judgement, subject, None, mutant, count)
    yield judgement
    results: list[Decompilation] = []

    def decompiled() -> Verdict:
        results.append(decompile_frame(mutant))
        return results[0].verdict

    judgement = bounded(with_(start, mutation=f"text of {start.mutation}"), mutant, decompiled)
    if results and results[0].bugs:
        judgement = with_(judgement, grade="CRASH", reason=results[0].bugs[0], bugs=results[0].bugs)
    elif results and results[0].code is not None and not same_bits(mutant, results[0].code):
        judgement = run_in_child(judgement, subject, mutant, results[0].code, count)
    yield judgement


def bounded(start: Judgement, code: CodeType, verdict_of: Callable[[], Verdict]) -> Judgement:
    """Return the judgement with the grade of a verdict, or with the failure to reach one."""
    size = sum(len(inner.co_code) // 2 for inner in codes_in(code))
    begin = time.process_time()
    try:
        with limited(CPU_SECONDS):
            fields = graded(verdict_of())
    except Hang:
        fields = {"grade": "HANG", "reason": f"over {CPU_SECONDS:.0f} s of CPU"}
    except Exception as error:
        fields = {"grade": "CRASH", "reason": where(error)}
    if "MemoryError" in fields["reason"] or OUT_OF_MEMORY in fields["reason"]:
        fields = {"grade": "CRASH", "reason": "over 1 GB of memory"}
    return with_(start, **fields, seconds=time.process_time() - begin, instructions=size)


def run_in_child(
    judgement: Judgement, subject: Subject, one: Optional[CodeType], other: CodeType, count: int
) -> Judgement:
    """Compare two codes in a child process; one that crashes was accepted though it is malformed."""

    def died(status: int) -> Judgement:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return with_(judgement, reason="the run does not end")
        what = f"signal {number}" if number else f"status {os.WEXITSTATUS(status)}"
        is_named = Difference(frozenset({CRASH}), 0, (), ()).is_named_by(judgement.assumptions)
        return with_(judgement, kinds=(CRASH,), is_named=is_named, shown=f"the run ended with {what}")

    return in_child(partial(compared, judgement, subject, one, other, count), died)
