"""`depyf report`: make the page of a folder again, from its record and its files alone."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import List

from depyf.errors import UserError
from depyf.line_table.folders import read_file, read_records
from depyf.page.compile_times import times_data
from depyf.page.page_data import page_data
from depyf.page.page_folder import write_page
from depyf.page.page_text import page_files
from depyf.record.records import SessionRecord

_TIMINGS = ("timings.json", "depyf_timings.json")


def report(folder: str) -> List[str]:
    """Write the page of a folder, and of each process below it; return the paths, that of the folder first.

    UserError where the folder has no record, or cannot be written.
    """
    return [write_report(path, record) for path, record in read_records(folder)]


def write_report(folder: str, record: SessionRecord) -> str:
    """Write the page of one process; return the path of its index.html."""
    timings = next((name for name in _TIMINGS if name in record.files), "")
    times = times_data(read_file(folder, timings)) if timings else {}
    files = page_files(page_data(record, lambda name: read_file(folder, name)), times)
    try:
        return write_page(folder, files)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error


def open_page(path: str) -> None:
    """Show a page in the browser of the user."""
    webbrowser.open(Path(os.path.abspath(path)).as_uri())
