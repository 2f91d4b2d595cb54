"""From a code object to text that may be shown: the decompiler's, or a listing of the instructions."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Mapping, Tuple

from depyf.decompiler.printer.listing import annotated_disassembly
from depyf.problems import Problems
from depyf.torch_hooks.internals.stable_names import parameter_names, stable_text
from depyf.torch_hooks.internals.torch_text import scrub

PROVED = ("PROVED", "PROVED_UNDER")


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


def decompile_or_list(
    code: CodeType,
    reference: CodeType | None,
    filename: str,
    renames: Mapping[str, str],
    hints: Mapping[str, Tuple[str, ...]],
    problems: Problems,
) -> Decompiled:
    """The decompiler's text when it is proved, else a listing of the instructions.

    Whatever goes wrong in the decompiler is noted, and the listing stands in.
    """
    divergence, grade = "", "UNPROVED"
    with problems.shield("decompiling a frame"):
        from depyf.decompiler.pipeline import decompile_frame

        result = decompile_frame(code, reference=reference, filename=filename, renames=renames, hints=hints)
        verdict = result.verdict
        grade = verdict.grade.name
        found = verdict.reason if verdict.divergence is None else str(verdict.divergence)
        divergence = scrub(stable_text(found))
        for bug in result.bugs:
            kind, _, _ = bug.partition(":")
            problems.tell(f"decompiling a frame ({kind})", "no text from that stage", bug + "\n")
        if grade in PROVED and result.code is not None:
            return Decompiled(
                result.source,
                result.code,
                grade,
                tuple(str(assumption.value) for assumption in verdict.assumptions),
                divergence,
                result.rung,
                tuple(result.lines),
            )
    source, lines = annotated_disassembly(code, renames)
    if grade in PROVED:  # proved, but without the code that was proved: nothing to install
        grade = "UNPROVED"
    return Decompiled(source, None, grade, (), divergence, "disassembly", lines)


def fits(original: CodeType, replacement: CodeType) -> bool:
    """Whether Dynamo takes `replacement` for a frame of `original`: same parameters and cells, in order."""
    return (
        parameter_names(original) == parameter_names(replacement)
        and original.co_freevars == replacement.co_freevars
        and original.co_cellvars == replacement.co_cellvars
    )
