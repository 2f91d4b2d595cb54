"""The first line of a graph's file: whether the code below it runs, and if not, which file's does.

It is one line always, so that the lines below, to which running code is linked, do not move when it is written anew.
"""

from __future__ import annotations

from typing import Sequence

from depyf.record.records import StageRecord
from depyf.record.vocabulary import (
    AUTOTUNING,
    CANDIDATE,
    NATIVE,
    NODE_BY_NODE,
    NOT_CALLED,
    NOT_KNOWN,
    RAN,
    RECORDED,
)
from depyf.text.line_breaks import LIMIT
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile

_INSTEAD = "; what runs is "
_NOT_SEEN = "not seen to run; the backend may have made something else of it."


def first_line(graph: CompiledGraph, file: GraphFile) -> str:
    """Return the line for a file, as far as it is known now what runs."""
    sign = "#" if file.name.endswith(".py") else "//"
    of_piece = "" if file.piece is None or graph.pieces.count < 2 else f" of piece {file.piece}"
    start = f"{sign} {graph.name}, {' '.join(file.stage.split())}{of_piece}: "
    return _within_limit(start + _state(graph, file), f"{graph.name}.")


def _within_limit(line: str, stem: str) -> str:
    """Return a line that names too many files with the ends of their names, and with a number in place of the last."""
    if len(line) <= LIMIT or _INSTEAD not in line:
        return line
    head, _, names = line.partition(_INSTEAD)
    files = [name[len(stem) :] if name.startswith(stem) else name for name in names.split(", ")]
    for count in range(len(files), 0, -1):
        rest = f" and {len(files) - count} more" if count < len(files) else ""
        shown = f"{head}{_INSTEAD}{', '.join(files[:count])}{rest}"
        if len(shown) <= LIMIT:
            return shown
    return shown


def _state(graph: CompiledGraph, file: GraphFile) -> str:
    if file.same_as:
        return f"not linked; the same code is loaded once and linked to {file.same_as}"
    execution = file.execution
    if execution:
        return _seen(execution, file.linked, file.interpreter, file.recorded_functions, file.was_running)
    running = graph.running(file)
    if file.stage == AUTOTUNING:
        return "what was tried"
    start = "autotuning tried it; " if file.stage == CANDIDATE else ""
    if graph.is_seen() and not running:
        return start + "nothing that was made of it has run so far"
    if graph.without_frame and not running:
        return start + f"no frame calls it: {graph.without_frame}"
    return start + _not_run(running)


_UNLINKED = "; not linked to this file"
# The states of code that is what runs, as first lines report them.
_SEEN = {
    RAN: "this code runs",
    RECORDED: "this code runs while a CUDA graph is warmed up and recorded; a replay of it runs no Python",
    NOT_CALLED: "not called so far inside the context",
    NATIVE: "what is compiled of it runs, without Python",
    NOT_KNOWN: "may be what a call runs; whether it ran inside the context is not known",
}


_BEFORE = "compiled before this context; "


def without_file(text: str) -> str:
    """Return the text of a graph file as it reads without a context and its files."""
    text = text.replace(f"{_BEFORE}{_SEEN[NOT_KNOWN]}{_UNLINKED}", "what a call runs", 1)
    return text.replace(_UNLINKED, "", 1)


def _seen(
    execution: str, linked: bool, interpreter: str, recorded: Sequence[str] = (), was_running: bool = False
) -> str:
    if execution == NODE_BY_NODE:
        return f"run node by node by {interpreter or 'an interpreter'}; this text is not executed."
    state = _SEEN[execution]
    if execution == RAN and recorded:
        state += f"; {', '.join(recorded)} while a CUDA graph is warmed up and recorded, not when it is replayed"
    before = _BEFORE if was_running and execution in (NOT_KNOWN, NOT_CALLED) else ""
    return f"{before}{state}{'' if linked or execution == NATIVE else _UNLINKED}."


def _not_run(instead: Sequence[str]) -> str:
    return f"not run by this backend{_INSTEAD}{', '.join(instead)}" if instead else _NOT_SEEN


def completed(line: str, known: StageRecord) -> str | None:
    """Return the line completed from the record, for a line that a killed process wrote before anything ran.

    None for a line that needs no change.
    """
    if not line.endswith(_NOT_SEEN):
        return None
    state = (
        _seen(known.execution, known.linked, "", known.recorded_functions)
        if known.execution
        else _not_run(known.instead)
    )
    return line[: -len(_NOT_SEEN)] + state
