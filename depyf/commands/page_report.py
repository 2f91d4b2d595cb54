"""`depyf report`: make the page of a folder again, from its record and its files alone, or of a trace log."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List

from depyf.errors import UserError
from depyf.line_table.folders import folders_of_processes, read_records
from depyf.page.folder_page import write_folder_page
from depyf.page.page_folder import index_name
from depyf.record.records import SessionRecord
from depyf.torch_hooks.entry_points.killed_processes import finish
from depyf.torch_hooks.trace_logs.log_folder import logs_in, write_log_folder

_MOST_PAGES = 32
_MOST_ALIKE = 3  # ranks of one group
LOG_OUTPUT = "depyf_report"  # the folder that the files of a log are written to
_OWN = ("manifest.json", "depyf_manifest.json", "depyf_journal.jsonl")
_PROCESS = re.compile(r"(?:rank|process)_\d+")


def report(folder: str, output: str = "") -> List[str]:
    """Write the page of a folder, and of processes below it; return the paths, that of the folder first.

    A trace log, or a folder of them, becomes a folder of its own first: `output`.

    Processes that the program did not compare when it ended are compared first. Of many processes those get a page that
    stand for others or differ from them. UserError where the folder has no record, or cannot be written.
    """
    logs = _logs(folder)
    if logs:
        folder = output or LOG_OUTPUT
        write_log_folder(logs, folder)
        return [os.path.join(folder, index_name(folder))]
    if output:
        raise UserError(f"{folder} is no trace log: its page is written there, and -o is for the page of a log")
    _compare_processes(folder)
    try:
        found = read_records(folder, processes_with_pages)
        written = [write_folder_page(path, record) for path, record in reversed(found)]
        return written[::-1]  # that of the folder is made last: it links to the others
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error


def _logs(path: str) -> List[str]:
    """Return the trace logs that a path names; none for a folder that a program wrote under depyf."""
    if not os.path.isdir(path):
        return [path] if os.path.isfile(path) else []
    try:
        names = os.listdir(path)
        is_dump = any(name in _OWN or _PROCESS.fullmatch(name) for name in names)
        return [] if is_dump else logs_in(path)
    except OSError:
        return []  # which reading the record reports


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
