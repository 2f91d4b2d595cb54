"""Turn a code object into text: the decompiler's where it is proved, else a listing of the instructions."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Mapping, Tuple

from depyf.decompiler.printer.listing import annotated_disassembly
from depyf.problems import Problems
from depyf.record.vocabulary import DISASSEMBLY, PROVED_GRADES, UNPROVED
from depyf.torch_hooks.internals.generated_code import DYNAMO
from depyf.torch_hooks.internals.stable_names import parameter_names, stable_text
from depyf.torch_hooks.internals.torch_text import scrub


@dataclass(frozen=True)
class Decompiled:
    """Text for one code object, and what is known about it."""

    source: str  # valid Python
    code: CodeType | None  # compiled from `source`; None unless proved
    grade: str
    assumptions: Tuple[str, ...]
    divergence: str
    rung: str
    lines: Tuple[Tuple[int, int], ...]  # (offset in the given code, line in `source`)
    origins: Tuple[int, ...] = ()  # of each line in `source`, as in `Decompilation`


def decompile_or_list(
    code: CodeType,
    reference: CodeType | None,
    filename: str,
    renames: Mapping[str, str],
    hints: Mapping[str, Tuple[str, ...]],
    problems: Problems,
) -> Decompiled:
    """Return the decompiler's text when it is proved, else a listing of the instructions.

    A failure of the decompiler is recorded, and gives the listing.
    """
    divergence, grade = "", str(UNPROVED)
    with problems.shield("decompiling a frame"):
        from depyf.decompiler.pipeline import decompile_frame

        result = decompile_frame(
            code, reference=reference, filename=filename, renames=renames, hints=hints, generator=DYNAMO
        )
        verdict = result.verdict
        grade = verdict.grade.name
        found = verdict.reason if verdict.divergence is None else str(verdict.divergence)
        divergence = scrub(stable_text(found))
        for bug in result.bugs:
            kind, _, _ = bug.partition(":")
            problems.add(f"decompiling a frame ({kind})", "no text from that stage", bug + "\n")
        if grade in PROVED_GRADES and result.code is not None:
            return Decompiled(
                result.source,
                result.code,
                grade,
                tuple(str(assumption.value) for assumption in verdict.assumptions),
                divergence,
                result.rung,
                tuple(result.lines),
                result.origins,
            )
    source, lines = annotated_disassembly(code, renames)
    if grade in PROVED_GRADES:  # proved, but without the code that was proved: nothing to install
        grade = UNPROVED
    return Decompiled(source, None, grade, (), divergence, DISASSEMBLY, lines)


def fits(original: CodeType, replacement: CodeType) -> bool:
    """Return whether Dynamo accepts `replacement` for a frame of `original`: same parameters and cells, in order."""
    return (
        parameter_names(original) == parameter_names(replacement)
        and original.co_freevars == replacement.co_freevars
        and original.co_cellvars == replacement.co_cellvars
    )
