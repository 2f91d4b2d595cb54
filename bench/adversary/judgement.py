"""Judge one function: how it was proved, and whether the two codes do the same."""

from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Dict, List, Optional, Tuple

from bench.adversary.differences import Difference, difference
from bench.adversary.runs import Subject, codes_in, run, subject_of
from bench.adversary.strict_texts import failure_of_text
from bench.adversary.world import Schedule
from depyf.decompiler.attempt import Decompilation
from depyf.decompiler.pipeline import decompile_frame
from depyf.decompiler.prove import Verdict

SCHEDULES = 16
TRIES = 60  # of a difference, at other addresses, before it counts


@dataclass(frozen=True)
class Judgement:
    """What became of one function."""

    number: int
    grade: str  # PROVED, PROVED_UNDER, UNPROVED, REFUTED, or CRASH: an exception of depyf's own
    assumptions: Tuple[str, ...] = ()
    reason: str = ""
    rung: str = ""
    seconds: float = 0.0  # of CPU, for the decompilation
    instructions: int = 0
    is_identical: bool = False  # the recompiled code is the same in every bit that runs
    kinds: Tuple[str, ...] = ()  # of difference
    is_named: bool = True  # every difference is named by an assumption
    shown: str = ""  # the first difference
    schedule: Dict[str, Any] = field(default_factory=dict)  # that shows it
    bugs: Tuple[str, ...] = ()
    mutation: str = ""

    @property
    def failed(self) -> bool:
        """Whether this is a failure: a difference that no assumption names, or a crash."""
        return self.grade == "CRASH" or (bool(self.kinds) and not self.is_named)


def schedules(number: int, count: int, acts: bool) -> List[Schedule]:
    """Return the schedules of a function: calm ones, some with exceptions, some that read local names.

    Those after the first few have one exception each, at an operation that `compared` chooses.
    """
    made = []
    for n in range(count):
        rate = (0.0, 0.1, 0.0, 0.0)[n % 4]
        reads_names = n % 4 == 3
        made.append(
            Schedule(number * 64 + n, rate, 0, deaths=not reads_names, acts=acts and n % 8 < 4, names=reads_names)
        )
    return made


def judged(number: int, source: str, count: int = SCHEDULES) -> Judgement:
    """Decompile `f` of a module, run both codes on schedules, and compare."""
    subject = subject_of(source)
    size = sum(len(code.co_code) // 2 for code in codes_in(subject.code))
    begin = time.process_time()
    result = decompile_frame(subject.code)
    seconds = time.process_time() - begin
    base = Judgement(number, seconds=seconds, instructions=size, **graded(result.verdict), rung=result.rung)
    base = with_(base, bugs=result.bugs)
    if result.code is None:
        return base
    judgement = with_(base, is_identical=True)
    if not same_bits(subject.code, result.code):
        judgement = compared(base, subject, None, result.code, count)
    if judgement.kinds or result.stand_ins:
        return judgement
    if subject.code.co_name != "f" or all(const is not subject.code for const in subject.module.co_consts):
        wrong = failure_of_text(subject, schedules(number, 2, acts=False)) if not base.assumptions else None
        return with_(judgement, kinds=(wrong,), is_named=False, shown=wrong) if wrong else judgement
    return with_text(judgement, subject, result, count)


def with_text(judgement: Judgement, subject: Subject, result: Decompilation, count: int) -> Judgement:
    """Return the judgement with the text judged, too, where it compiles to other code than the proved one."""
    assert result.code is not None
    try:
        text = subject_of(result.source).code
    except (SyntaxError, StopIteration) as error:
        return with_(judgement, kinds=("the text is no function f",), is_named=False, shown=str(error))
    if same_bits(text, result.code):
        return judgement
    worse = compared(judgement, subject, None, text, count)
    return with_(worse, kinds=tuple([f"of the text alone: {kind}" for kind in worse.kinds]))


def with_(judgement: Judgement, **changes: Any) -> Judgement:
    """Return a judgement with some fields changed."""
    return Judgement(**{**judgement.__dict__, **changes})


def graded(verdict: Verdict) -> Dict[str, Any]:
    """Return the fields of a judgement that a verdict decides."""
    reason = "" if verdict.holds else re.sub(r"'[^']*'(?!t )|<[^>]*>|@-?\d+|\d+", "*", str(verdict))[:300]
    return {
        "grade": verdict.grade.name,
        "assumptions": tuple([assumption.name for assumption in verdict.assumptions]),
        "reason": reason,
    }


def compared(base: Judgement, subject: Subject, one: Optional[CodeType], other: CodeType, count: int) -> Judgement:
    """Run both codes on schedules; return the judgement with the worst difference."""
    named: Optional[Judgement] = None
    length = 0
    for n, schedule in enumerate(schedules(base.number, count, acts=not base.assumptions)):
        if schedule.names and not subject.has_names:
            continue
        if length and n % 4 != 1 and n > 1:
            schedule = replace(schedule, fault_at=1 + (n * n // 4 + base.number) % length)
        left, right = run(subject, one, schedule), run(subject, other, schedule)
        length = length or left[-1][-1]
        found = difference(left, right)
        if found is None or is_by_chance(subject, one, other, schedule):
            continue
        worse = with_difference(base, found, schedule)
        if not worse.is_named:
            return worse
        named = named or worse
    return named or base


def is_by_chance(subject: Subject, one: Optional[CodeType], other: CodeType, schedule: Schedule) -> bool:
    """Return whether addresses decide what two codes do, such as the order of a set of functions."""
    held: List[Any] = []
    chance = random.Random(0)
    for n in range(TRIES):
        # Objects of many sizes, some of them dropped again, so that those of the next run have other addresses.
        held += [(item for item in ()) for _ in range(chance.randrange(9))] + [lambda: 0 for _ in range(5 + n)]
        held += [object(), {1: n}, *[[n] * size for size in range(chance.randrange(40))]]
        chance.shuffle(held)
        del held[: chance.randrange(1 + len(held) // 2)]
        left, right = run(subject, one, schedule), run(subject, other, schedule)
        if difference(left, right) is None or difference(left, run(subject, one, schedule)) is not None:
            return True
    return False


def with_difference(base: Judgement, found: Difference, schedule: Schedule) -> Judgement:
    """Return the judgement with a difference in it."""
    text = f"entry {found.at}: original {found.left}, other {found.right}"
    return with_(
        base,
        kinds=tuple(sorted(found.kinds)),
        is_named=found.is_named_by(base.assumptions),
        shown=text,
        schedule=dict(schedule.__dict__),
    )


def same_bits(a: CodeType, b: CodeType) -> bool:
    """Return whether two codes agree in all that runs: not in their lines, file names and positions."""
    return bool(frozen(a) == frozen(b))


def frozen(value: Any) -> Any:
    """Return a form of a code object or constant in which equality is exact."""
    if isinstance(value, CodeType):
        parts: List[Any] = [frozen(const) for const in value.co_consts]
        for name in (
            "co_code", "co_names", "co_varnames", "co_cellvars", "co_freevars", "co_flags", "co_argcount",
            "co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable", "co_name", "co_qualname", "co_stacksize",
        ):  # fmt: skip
            parts.append(getattr(value, name, None))
        return tuple(parts)
    if isinstance(value, tuple):
        return tuple([frozen(item) for item in value])
    if isinstance(value, frozenset):
        return repr(type(value)), [frozen(item) for item in value]
    return repr(type(value)), repr(value)
