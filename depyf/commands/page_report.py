"""`depyf report`: make the page of a folder again, from its record and its files alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

from depyf.errors import UserError
from depyf.line_table.folders import read_records
from depyf.page.folder_page import write_folder_page


def report(folder: str) -> List[str]:
    """Write the page of a folder, and of each process below it; return the paths, that of the folder first.

    UserError where the folder has no record, or cannot be written.
    """
    try:
        return [write_folder_page(path, record) for path, record in read_records(folder)]
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error


def open_page(path: str) -> None:
    """Show a page in the browser of the user."""
    import webbrowser

    webbrowser.open(Path(os.path.abspath(path)).as_uri())
