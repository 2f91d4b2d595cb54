"""The page of a folder: read its files, make the page, write it beside them."""

from __future__ import annotations

import os
from typing import Any, Dict

from depyf.line_table.folders import read_file, read_records
from depyf.page.compile_times import times_data
from depyf.page.embedded import address_of, embedded_page
from depyf.page.page_data import page_data
from depyf.page.page_folder import INDEX, is_own_index, page_above, side_name, write_page
from depyf.page.page_text import page_files
from depyf.record.records import SessionRecord

_TIMINGS = ("timings.json", "depyf_timings.json")


def embedded_folder_page(folder: str, record: SessionRecord) -> str:
    """Return the page of a record whose files are in a folder as an element for the output of a notebook's cell."""
    data = page_data(record, lambda name: read_file(folder, name))
    return embedded_page(data, _times(folder, record), address_of(data))


def _page_below(folder: str, name: str) -> str:
    """Return the path of the page of a process, from the folder of the program; empty where it has none."""
    if name.startswith(("/", "\\")) or ".." in name.split("/"):
        return ""
    paths = [f"{name}/{index}" for index in (INDEX, f"depyf_{INDEX}")]
    return next((path for path in paths if is_own_index(os.path.join(folder, path))), "")


def _times(folder: str, record: SessionRecord) -> Dict[str, Any]:
    timings = next((name for name in _TIMINGS if name in record.files), "")
    return times_data(read_file(folder, timings)) if timings else {}


def write_folder_page(folder: str, record: SessionRecord) -> str:
    """Write the page of a record whose files are in a folder; return the path of its index.html.

    Nothing outside of the folder is read, whatever the record names.  OSError where the page cannot be written.
    """
    data = page_data(record, lambda name: read_file(folder, name), lambda name: _page_below(folder, name))
    above = "" if record.processes else page_above(folder)
    return write_page(folder, page_files(data, _times(folder, record), side_name(folder), above))


def make_page_again(folder: str) -> str:
    """Make the page of a folder from what it holds; UserError where it has no record."""
    (path, record), *_ = read_records(folder, lambda record: ())
    return write_folder_page(path, record)
