"""`depyf diff`: read the folders of two runs, and compare them process by process."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Dict, List, Sequence, Tuple

from depyf.line_table.folders import read_file, read_records
from depyf.report import run_differences
from depyf.report.run_differences import Run, RunDifference

ByProcess = Sequence[Tuple[str, Sequence[RunDifference]]]  # folder of a process; empty: the one given


def differences(first: str, second: str) -> ByProcess:
    """Return what the runs in two folders did not do alike, for each process; UserError where one holds no run."""
    ours, theirs = _runs(first), _runs(second)
    found: List[Tuple[str, Sequence[RunDifference]]] = []
    for name in dict.fromkeys([*ours, *theirs]):
        if name in ours and name in theirs:
            found.append((name, run_differences.compare(ours[name], theirs[name])))
        else:
            folder, has, lacks = (first, "compiled", "") if name in ours else (second, "", "compiled")
            found.append((name, (RunDifference(name, os.path.join(folder, name), "process", has, lacks),)))
    return found


def render(found: ByProcess) -> str:
    """Return the differences for a reader; those of each process under its name."""
    if not any(differences for _, differences in found):
        return run_differences.render(())
    parts = [(name, run_differences.render(differences)) for name, differences in found if differences]
    return "".join([f"{name}:\n{text}" if name else text for name, text in parts])


def render_json(found: ByProcess) -> str:
    """Return the differences as data."""
    rows = [{"process": name, **asdict(one)} for name, differences in found for one in differences]
    return json.dumps(rows, indent=1) + "\n"


def _runs(folder: str) -> Dict[str, Run]:
    found = {}
    for path, record in read_records(folder):
        name = os.path.relpath(path, folder) if path != folder else ""
        if record.frames or record.functions or not name:
            found[name] = Run(record, lambda file, path=path: read_file(path, file))  # type: ignore[misc]
    return found
