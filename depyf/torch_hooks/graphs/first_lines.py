"""The first line of a graph's file: whether the code below it runs, and if not, which file's does.

It is one line always, so that the lines below, to which running code is linked, do not move when it is written anew.
"""

from __future__ import annotations

from typing import Sequence

from depyf.record.records import StageRecord
from depyf.record.vocabulary import AUTOTUNING, CANDIDATE
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile

_NOT_SEEN = "not seen to run; the backend may have made something else of it."


def first_line(graph: CompiledGraph, file: GraphFile) -> str:
    """Return the line for a file, as far as it is known now what runs."""
    sign = "#" if file.name.endswith(".py") else "//"
    of_piece = "" if file.piece is None or graph.pieces.count < 2 else f" of piece {file.piece}"
    return f"{sign} {graph.name}, {' '.join(file.stage.split())}{of_piece}: {_state(graph, file)}"


def _state(graph: CompiledGraph, file: GraphFile) -> str:
    if file.same_as:
        return f"not linked; the same code is loaded once and linked to {file.same_as}"
    if file.interpreted:
        return "this code runs, node by node in an interpreter: breakpoints here are not hit."
    if file.linked or file.runs:
        return _what_runs(file.linked, file.runs, ())
    running = graph.running(file)
    if file.stage == AUTOTUNING:
        return "what was tried"
    start = "autotuning tried it; " if file.stage == CANDIDATE else ""
    if graph.running() and not running:
        return start + "nothing that was made of it has run so far"
    if graph.without_frame and not running:
        return start + f"no frame calls it: {graph.without_frame}"
    return start + _what_runs(False, False, running)


_UNLINKED = ", but is not linked to this file"


def without_file(text: str) -> str:
    """Return the text of a graph file as it reads where no file is written: nothing about the link to one."""
    return text.replace(_UNLINKED, "", 1)


def _what_runs(linked: bool, runs: bool, instead: Sequence[str]) -> str:
    if linked:
        return "this code runs."
    if runs:
        return f"this code runs{_UNLINKED}."
    return f"not run by this backend; what runs is {', '.join(instead)}" if instead else _NOT_SEEN


def completed(line: str, known: StageRecord) -> str | None:
    """Return the line completed from the record, for a line that a killed process wrote before anything ran.

    None for a line that needs no change.
    """
    if not line.endswith(_NOT_SEEN):
        return None
    return line[: -len(_NOT_SEEN)] + _what_runs(known.linked, known.runs, known.instead)
