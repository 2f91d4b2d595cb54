"""The summary that a folder keeps: `depyf show FOLDER`."""

from __future__ import annotations

import json
import os
from typing import List, Tuple

from depyf.errors import UserError
from depyf.line_table.folders import WHICH_FOLDER, has_manifest, read_record
from depyf.report import program_summary, summary_data
from depyf.report.program_summary import Process
from depyf.report.reader_text import reader_text
from depyf.torch_hooks.disk.leftovers import Leftover, read_leftover
from depyf.torch_hooks.disk.merging import other_processes


def summary_of(folder: str) -> str:
    """Return the summary as it was printed when the program left the context, all of it; UserError without a record.

    Where the program was killed, or still runs, or an older depyf kept none, it is made of what was recorded.
    """
    left, others = _read(folder)
    record = left.record()
    if record.summary and not left.journal:
        return reader_text(record.summary) + "\n"
    return program_summary.render(record, folder, others, os.path.exists, whole=True) + "\n"


def data_of(folder: str) -> str:
    """Return what the summary is made of as JSON, for each process of the program; UserError without a record."""
    return json.dumps(processes_of(folder), indent=1) + "\n"


def processes_of(folder: str) -> List[summary_data.Data]:
    """Return what the summary is made of for each process, that of the folder first; UserError without a record."""
    left, others = _read(folder)
    processes = [("", left.record()), *[(one.folder, one.record) for one in others]]
    return [summary_data.data_of(name, record) for name, record in processes]


def _read(folder: str) -> Tuple[Leftover, List[Process]]:
    left = read_leftover(folder)
    others = other_processes(folder, left.run)
    if not left.journal and has_manifest(folder):
        read_record(folder)  # raises where it cannot be read: that is not a run in which nothing was compiled
    if not left.exists and not others:
        raise UserError(f"{folder} holds no record of depyf: {WHICH_FOLDER}")
    return left, others
