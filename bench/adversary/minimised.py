"""Make a failing function small, with the schedule that shows the difference."""

from __future__ import annotations

import re
import warnings
from typing import List, Optional, Tuple

from bench.adversary.judgement import Judgement, judged
from bench.adversary.limits import in_child
from bench.adversary.runs import subject_of
from bench.minimise import smallest_module
from depyf.decompiler.pipeline import decompile_frame


def class_of(judgement: Judgement) -> str:
    """Return the class of a failure: functions of one class may have one cause."""
    if judgement.kinds and not judgement.is_named:
        under = ", ".join(judgement.assumptions) or "no assumption"
        return f"{judgement.grade} under {under}: {'; '.join(judgement.kinds)}"
    if judgement.grade in ("CRASH", "HANG"):
        return f"{judgement.grade}: {judgement.reason}"
    if not judgement.grade.startswith("PROVED"):
        return f"{judgement.grade}: {coarse(judgement.reason)}"
    return f"{judgement.grade} under {', '.join(judgement.assumptions) or 'no assumption'}"


def coarse(reason: str) -> str:
    """Return the part of a reason that functions with one cause share."""
    if reason.startswith("not proved"):
        reason = reason.split("; ")[0]
    reason = re.sub(r"can\W?t use", "cannot use", reason)
    reason = re.sub(r"\bin \S+: |(?<=load_global )\w+|(?<=load_attr )\w+|\b[a-z] is [a-z*]", "", reason)
    return re.sub(r"\(.*", "", reason)[:110]


def smallest_failing(number: int, source: str, wanted: str, seconds: float, count: int) -> Optional[Tuple[str, str]]:
    """Return the smallest module found that fails in the same class, and the report on it."""

    def is_wanted(text: str) -> bool:
        # In a child: a part of a function may loop forever. Or it has no `f` any more, or cannot be run.
        nothing = Judgement(number, "PROVED")
        return class_of(in_child(lambda: judged(number, text, count), lambda status: nothing)) == wanted

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = smallest_module(source, is_wanted, seconds)
        if small is None:
            return None
        return small, report(number, small, count)


def report(number: int, source: str, count: int) -> str:
    """Return the text of a failing function, depyf's text of it, and the first difference."""
    judgement = judged(number, source, count)
    lines: List[str] = [class_of(judgement), *["    " + line for line in source.splitlines()]]
    if judgement.grade.startswith("PROVED"):
        result = decompile_frame(subject_of(source).code)
        lines += ["  text:", *["    " + line for line in result.source.splitlines()]]
    if judgement.kinds:
        lines += [f"  {judgement.shown}", f"  schedule: {judgement.schedule}"]
    return "\n".join(lines)
