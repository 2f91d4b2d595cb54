"""Resume functions in a story: the heading of one, and its text; where that is bytecode, the lines it was made of."""

from __future__ import annotations

from typing import Sequence

from depyf.record.records import SKIP_KINDS, FunctionRecord, SessionRecord
from depyf.record.vocabulary import DECOMPILED, LISTED
from depyf.report.dispatcher import shown_name


def resume_title(session: SessionRecord, function: FunctionRecord) -> str:
    """Return the heading of a resume function, whose paths are short."""
    whole = _whole(session, function)
    title = f"Resume function {shown_name(function)}   (after {function.file}:{function.first_line})\n"
    title += f"What is left of {whole[-1].display_name} after {'a' if len(whole) == 2 else 'a further'} graph break."
    if len(function.resume_names) > 1:
        title += f"\nIt has {len(function.resume_names)} names, one for each version of its caller:"
        title += f"\n  {_few_names(function.resume_names)}"
    if function.source_origin == DECOMPILED:
        title += "\nDynamo made it as bytecode; this is its decompiled source."
    elif function.source_origin == LISTED:
        title += "\nDynamo made it as bytecode, and no source was found that is proved to do the same."
        if lines_left(session, function):
            title += "\nIt was made of these lines of the original; what its first line calls has been called before."
    return title


def lines_left(session: SessionRecord, function: FunctionRecord) -> list[str]:
    """Return the original from the line on at which a function resumes that was not decompiled; none where unknown."""
    whole = _whole(session, function)[-1]
    last = whole.last_line
    if function.source_origin != LISTED or last is None or not whole.first_line < function.first_line <= last:
        return []
    lines = whole.source.rstrip("\n").split("\n")[function.first_line - whole.first_line :]
    return [f"{number:>6}  {line}" for number, line in enumerate(lines, start=function.first_line)]


def why_without_version(session: SessionRecord, function: FunctionRecord) -> str:
    """Return why Dynamo compiled no version of a function that has no skip of its own: a library's, or never met."""
    place = (function.name, session.function(function.key).file, function.first_line)
    for one in session.skipped_frames:
        if (one.name, one.file, one.first_line) == place:
            return f"Dynamo left it to Python: {SKIP_KINDS.get(one.skip.kind, one.skip.reason)}."
    return "Dynamo has not come to it: it has not been called, or only where Dynamo is switched off."


def _whole(session: SessionRecord, resume: FunctionRecord) -> list[FunctionRecord]:
    """Return a resume function, those that it continues, and last the function whose rest all of them are."""
    passed = [resume]
    while passed[-1].resume_of is not None:
        try:
            function = session.function(passed[-1].resume_of)
        except KeyError:
            break
        if function in passed:
            break
        passed.append(function)
    return passed


def _few_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:2])} ... {names[-1]}"
