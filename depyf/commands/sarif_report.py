"""`depyf report --sarif`: the findings of a folder, for editors and code review."""

from __future__ import annotations

import json
import os

from depyf.errors import UserError
from depyf.report.sarif import render
from depyf.torch_hooks.entry_points.kept_summary import processes_of
from depyf.version import __version__


def report(folder: str) -> str:
    """Return the findings of a folder as SARIF, with paths from the current folder; UserError without a record."""
    if os.path.isfile(folder):
        raise UserError(f"{folder} is no folder: make one of a trace log first, by depyf report {folder} -o DIR")
    return json.dumps(render(processes_of(folder), os.getcwd(), __version__), indent=1) + "\n"
