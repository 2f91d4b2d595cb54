"""How a call finds its version, as a function; and the names that the story gives to versions."""

from __future__ import annotations

from typing import Sequence

from depyf.record.records import FrameRecord, FunctionRecord
from depyf.record.vocabulary import RECOMPILE_LIMIT
from depyf.report.call_signature import Signature
from depyf.report.skip_reasons import skip_lines
from depyf.text import python_source


def dispatcher(
    function: FunctionRecord, frames: Sequence[FrameRecord], signature: Signature, why_without: str = ""
) -> list[str]:
    """Return the function that tries the guards of each version in turn, with what happens where none fits.

    `why_without`: where there is no version, the reason.
    """
    body = []
    if len(frames) > 1:
        body.append("    # Dynamo tries the version it used last first; that matters only where two fit.")
    for frame in frames:
        body += python_source.bracketed("    if " + guard_name(frame, function), ", ".join(signature.names), ":")
        body += python_source.bracketed("        return " + code_name(frame), signature.call, "")
    if function.earlier_versions:
        body.append(f"    # {not_shown(function)}; a call may find such a version, too.")
    if any(skip.kind == RECOMPILE_LIMIT for skip in function.skips):
        body.append("    # No version fits: the original runs. Dynamo has reached its limit and compiles no more.")
    elif frames or function.earlier_versions:
        body.append("    # No version fits: Dynamo compiles one more for these arguments and runs that, or,")
        body.append("    # past its limit on recompiles, the original.")
    else:
        body.append(f"    # {why_without or 'Dynamo compiled no version of it: it runs as it is.'}")
    for line in _gave_up(function):
        body += python_source.wrapped_comment(line, "    ")
    name, *others = python_source.identifiers(function.resume_names or (function.display_name,))
    lines = [*python_source.bracketed("def " + name, signature.parameters, ":"), *body, "    ..."]
    if others:
        lines += ["", "", "# The same function, under one more name for each version of its caller."]
    return lines + _assigned(others, name)


def _gave_up(function: FunctionRecord) -> list[str]:
    others = [skip for skip in function.skips if skip.kind != RECOMPILE_LIMIT]  # that is at the top of the story
    text = ["For some arguments Dynamo compiled nothing, because"] if others else []
    return text + [line for skip in others for line in skip_lines(skip, function)]


def _assigned(names: Sequence[str], value: str) -> list[str]:
    """Write `a = b = value`, as many names to a statement as fit the width."""
    lines: list[str] = []
    for name in names:
        longer = f"{lines[-1][: -len(value)]}{name} = {value}" if lines else ""
        if lines and len(longer) <= python_source.WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{name} = {value}")
    return lines


def not_shown(function: FunctionRecord) -> str:
    """Return the sentence on versions that were compiled before the session."""
    if function.earlier_versions == 1:
        return "1 version compiled before this session is not shown"
    return f"{function.earlier_versions} versions compiled before this session are not shown"


# ---------------------------------------------------------------- names


def code_name(frame: FrameRecord) -> str:
    """Name the transformed code of a version like its file."""
    stem = frame.file[: -len(".py")] if frame.file.endswith(".py") else frame.file
    return python_source.identifier(stem)


def guard_name(frame: FrameRecord, function: FunctionRecord) -> str:
    """Name the function of the guards of a version: the number is that of its transformed code."""
    return f"__guard_{frame.index}_for_{python_source.identifier(function.display_name)}"


def shown_name(function: FunctionRecord) -> str:
    """Return the shown name of a function: a resume function has Dynamo's names, one for each of its callers."""
    return function.resume_names[0] if function.resume_names else function.display_name
