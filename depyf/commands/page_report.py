"""`depyf report`: make the page of a folder again, from its record and its files alone."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List

from depyf.errors import UserError
from depyf.line_table.folders import folders_of_processes, read_records
from depyf.page.folder_page import write_folder_page
from depyf.record.records import SessionRecord
from depyf.torch_hooks.entry_points.killed_processes import finish

_MOST_PAGES = 32
_MOST_ALIKE = 3  # ranks of one group
_PROCESS = re.compile(r"(?:rank|process)_\d+")


def report(folder: str) -> List[str]:
    """Write the page of a folder, and of processes below it; return the paths, that of the folder first.

    Processes that the program did not compare when it ended are compared first. Of many processes those get a page that
    stand for others or differ from them. UserError where the folder has no record, or cannot be written.
    """
    _compare_processes(folder)
    try:
        return [write_folder_page(path, record) for path, record in read_records(folder, processes_with_pages)]
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error


def _compare_processes(folder: str) -> None:
    """Merge the folders of processes where nobody has done it: the end of a program does not wait long for that."""
    try:
        names = os.listdir(folder)
    except OSError:
        return  # which reading the record reports
    if not any(name.endswith("manifest.json") for name in names) and any(map(_PROCESS.fullmatch, names)):
        finish(folder)


def processes_with_pages(record: SessionRecord) -> List[str]:
    """Return the folders of the processes that get a page: all, or of many the first ones of each group alike."""
    if len(record.processes) <= _MOST_PAGES:
        return folders_of_processes(record)
    ranks = [one.rank for one in record.processes if one.rank is not None][:1]
    ranks += [rank for one in record.differences for view in reversed(one.views) for rank in view.ranks[:_MOST_ALIKE]]
    chosen = set(list(dict.fromkeys(ranks))[:_MOST_PAGES])
    found = [one.folder for one in record.processes if one.rank in chosen]
    return found or [one.folder for one in record.processes[:_MOST_PAGES]]


def open_page(path: str) -> None:
    """Show a page in the browser of the user."""
    import webbrowser

    webbrowser.open(Path(os.path.abspath(path)).as_uri())
