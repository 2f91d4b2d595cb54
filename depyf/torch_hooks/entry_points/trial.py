"""A trial of depyf on the torch that is installed: the names of torch's that it uses, and a small program."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from typing import Any, Callable, List, Tuple

from depyf.record.vocabulary import UNTOUCHED
from depyf.report.break_summary import causes_of_breaks
from depyf.report.closing_summary import numbers
from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug
from depyf.torch_hooks.internals import private_hooks


def names() -> Tuple[int, List[str]]:
    """Return how many of the names are there, and what is lost without the others."""
    there = sum(private_hooks.find(row.name) is not None for row in private_hooks.HOOKS)  # imports their modules
    return there, list(private_hooks.not_offered())


def attempt() -> Tuple[str, str]:
    """Compile a small program in a folder that is removed; return what became of it, and what failed."""
    folder = tempfile.mkdtemp(prefix="depyf_doctor_")
    try:
        return _tried(folder)
    except Exception as error:  # whatever it is, it is what the user wants to read
        return "", f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(folder: str) -> Tuple[str, str]:
    import torch

    program = _program(torch)
    with contextlib.redirect_stderr(io.StringIO()), prepare_debug(
        os.path.join(folder, "dump"), include_earlier=False
    ) as context:
        torch.compile(program, backend="eager")(torch.ones(3))
    record = context.record
    if record is None or not record.frames:
        return "", "no frame was recorded"
    failures = [*record.problems]
    unlinked = [frame.file for frame in record.frames if frame.installed == UNTOUCHED]
    failures += [f"{file} is not linked to the code that runs" for file in unlinked]
    graphs = [stage for graph in record.graphs for stage in graph.stages if stage.runs]
    failures += [] if graphs and all(stage.linked for stage in graphs) else ["its graphs are not linked to their files"]
    breaks = sum(len(frame.graph_breaks) for frame in record.frames)
    failures += [] if breaks else ["its graph break was not recorded"]
    return numbers(record, causes_of_breaks(record)), "; ".join(failures)


def _program(torch: Any) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        y = torch.sin(x)
        torch._dynamo.graph_break()
        return y + 1

    return program
