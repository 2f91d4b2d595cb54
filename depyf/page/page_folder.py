"""Write the files of a page to a folder, and remove those of an earlier one; files of others stay as they are."""

from __future__ import annotations

import os
import re
from typing import Dict

from depyf.page.page_text import FOLDER, INDEX, MARK, PART_START

_PART = re.compile(r"(?:function|graph)_\d+\.js|times\.js")
_OTHER_INDEX = f"depyf_{INDEX}"  # where another index.html is there


def index_name(folder: str) -> str:
    """Return the name that index.html gets in a folder: its own, unless a file of someone else has it."""
    return INDEX if _may_write(os.path.join(folder, INDEX), MARK) else _OTHER_INDEX


def write_page(folder: str, files: Dict[str, str]) -> str:
    """Write the files of a page; return the path of index.html.  OSError where that is not possible.

    Each file is whole at any time.  Side files of an earlier page are removed, files that depyf did not write are not
    touched: FileExistsError where one of them is in the way.
    """
    os.makedirs(os.path.join(folder, FOLDER), exist_ok=True)
    remove_parts(folder, keep=files)
    for name, text in files.items():
        if name != INDEX:
            path = os.path.join(folder, name)
            if not _may_write(path, PART_START):
                raise FileExistsError(f"{path} is not depyf's")
            _write(path, text)
    path = os.path.join(folder, index_name(folder))
    if not _may_write(path, MARK):
        raise FileExistsError(f"{path} is not depyf's")
    _write(path, files[INDEX])
    return path


def remove_parts(folder: str, keep: Dict[str, str] = {}) -> None:  # noqa: B006  (it is only read)
    """Remove the side files of a page, and their folder if it is empty then."""
    below = os.path.join(folder, FOLDER)
    try:
        names = os.listdir(below)
    except OSError:
        return
    for name in names:
        path = os.path.join(below, name)
        if _PART.fullmatch(name) and f"{FOLDER}/{name}" not in keep and _may_write(path, PART_START):
            os.remove(path)
    if not keep:
        try:
            os.rmdir(below)  # fails when there is anything else in it
        except OSError:
            pass


def _may_write(path: str, mark: str) -> bool:
    """Return whether there is nothing at a path, or a file that depyf wrote."""
    if not os.path.lexists(path):
        return True
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return mark.encode() in stream.read(len(mark) + 64)


def _write(path: str, text: str) -> None:
    draft = f"{path}.depyf-draft"
    with open(draft, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
    os.replace(draft, path)
