"""The summary that a folder keeps: `python -m depyf show FOLDER`."""

from __future__ import annotations

import os

from depyf.errors import UserError
from depyf.report import program_summary
from depyf.torch_hooks.disk.leftovers import read_leftover
from depyf.torch_hooks.disk.merging import other_processes


def summary_of(folder: str) -> str:
    """Return the summary as it was printed when the program left the context, all of it; UserError without a record.

    Where the program was killed, or still runs, or an older depyf kept none, it is made of what was recorded.
    """
    left = read_leftover(folder)
    others = other_processes(folder, left.run)
    if not left.exists and not others:
        raise UserError(f"{folder} holds no record of depyf: give the folder that prepare_debug was given")
    record = left.record()
    if record.summary and not left.journal:
        return "\n".join(record.summary) + "\n"
    return program_summary.render(record, folder, others, os.path.exists, whole=True) + "\n"
