"""The guards of one version as one function that returns whether all of them hold."""

from __future__ import annotations

import os
from typing import Sequence

from depyf.record.guard_conditions import NoDimensionMarks, SameBody, SameObject
from depyf.record.records import FrameRecord, GuardRecord, Location
from depyf.report.call_signature import Signature
from depyf.text import python_source

OF_SIZES = "compiles for sizes 0 and 1 apart (torch._dynamo.mark_unbacked avoids it)"


def guard_function(frame: FrameRecord, name: str, signature: Signature, file: str) -> list[str]:
    """Return the lines of the function; conditions that Python cannot express are comments in it."""
    lines = python_source.bracketed("def " + name, ", ".join(signature.names), ":")
    if not frame.guards:
        return [*lines, "    # (the guards of this version were not seen)", "    ..."]
    unmarked = [guard.test.subject for guard in frame.guards if isinstance(guard.test, NoDimensionMarks)]
    guards = [guard for guard in frame.guards if not isinstance(guard.test, NoDimensionMarks)]
    if not any(guard.test.parts for guard in guards):
        return lines + _words(guards, "    ") + _about_marks(unmarked, "    ") + ["    return True"]
    lines.append("    return (")
    written: dict[str, None] = {}  # torch asks for some things twice
    for heading, group in _groups(guards, file):
        new = dict.fromkeys(part for guard in group for part in guard.test.parts if part not in written)
        words = _words([guard for guard in group if not guard.test.parts], "        ")
        if new or words:
            lines += python_source.comment(heading, "        ")
        lines += python_source.filled(list(new), "        ", first=not written) + words
        written.update(new)
    return [*lines, *_about_marks(unmarked, "        "), "    )"]


def _about_marks(tensors: Sequence[str], indent: str) -> list[str]:
    """List the tensors that may not carry what `mark_dynamic` and its like leave on one."""
    return _listed("also: no dimension of", tensors, " is marked dynamic or static", indent) if tensors else []


def _groups(guards: Sequence[GuardRecord], file: str) -> list[tuple[str, list[GuardRecord]]]:
    """Group the guards under headings: lines of the user's, lines of torch's own, and the rest."""
    sizes = [guard for guard in guards if guard.of_sizes]
    torch = [guard for guard in guards if guard.from_torch and not guard.of_sizes]
    ambient = [guard for guard in guards if guard.location is None]
    users = [guard for guard in guards if not guard.from_torch and guard.location is not None and not guard.of_sizes]
    groups = _by_line(users, file)
    groups += [(f"from torch, which {OF_SIZES}:", sizes)] if sizes else []
    groups += [("from torch itself:", torch)] if torch else []
    return groups + ([("Dynamo itself:", ambient)] if ambient else [])


def asked_by(location: Location | None, file: str) -> str:
    """Return the line, without the folder when it is in `file`; empty where it is not known."""
    if location is None:
        return ""
    name = os.path.basename(file) if location.file == file else location.file
    place = f"{name}:{location.line}"
    return f"{place}: {location.code.strip()}" if location.code.strip() else place


def _words(guards: Sequence[GuardRecord], indent: str) -> list[str]:
    """Write what Python cannot express as comments; objects and functions that must stay the same as lists."""
    objects = [guard.test.subject for guard in guards if isinstance(guard.test, SameObject)]
    functions = [guard.test.subject for guard in guards if isinstance(guard.test, SameBody)]
    lists: list[str] = []
    listed: tuple[type, ...] = ()
    if len(objects) > 1:
        lists += _listed("also: still the objects they were when this was compiled:", objects, "", indent)
        listed += (SameObject,)
    if len(functions) > 1:
        lists += _listed("also: functions that still have the bodies they had then:", functions, "", indent)
        listed += (SameBody,)
    texts = [guard.condition for guard in guards if not isinstance(guard.test, listed)]
    return [line for text in texts for line in python_source.comment("also: " + text, indent)] + lists


def _listed(start: str, things: Sequence[str], end: str, indent: str) -> list[str]:
    """Write `start a, b, c end` as comments that fit the width; a model has hundreds of things to list."""
    most = python_source.WIDTH - len(indent) - 2
    lines = [start]
    for thing in [*(f"{thing}," for thing in things[:-1]), things[-1] + end]:
        if len(lines[-1]) + 1 + len(thing) <= most:
            lines[-1] += " " + thing
        else:
            lines.append("      " + thing)
    return [line for one in lines for line in python_source.comment(one, indent)]


def _by_line(guards: Sequence[GuardRecord], file: str) -> list[tuple[str, list[GuardRecord]]]:
    """Group the guards by the line that asked for them."""
    groups: dict[str, list[GuardRecord]] = {}
    headings: dict[int, str] = {}  # id of a location, which is that of many guards -> its heading
    for guard in guards:
        heading = headings.get(id(guard.location))
        if heading is None:
            heading = headings[id(guard.location)] = asked_by(guard.location, file)
        groups.setdefault(heading, []).append(guard)
    return [(_cut(heading), group) for heading, group in groups.items()]


def _cut(heading: str) -> str:
    """Cut a heading to the width; generated code has lines of any length."""
    most = python_source.WIDTH - len("        # ")
    return heading if len(heading) <= most or "\n" in heading else heading[: most - 4].rstrip() + " ..."
