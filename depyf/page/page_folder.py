"""Write the files of a page to a folder, and remove those of an earlier one; files of others stay as they are."""

from __future__ import annotations

import errno
import os
import re
from typing import Dict, Set

INDEX = "index.html"
MARK = "<!-- depyf page -->"  # in the first lines of an index.html of ours
PART_START = "depyfPart("  # the first characters of every side file
TIMES = "times"  # the side file that every page has
ABOVE = f"../{INDEX}"  # the page of all processes, seen from the folder of one of them

_SIDES = ("page", "depyf_page")  # names of the folder of side files; the second where another one has the first
_PROCESS = re.compile(r"(?:rank|process)_\d+")  # the name of the folder of one process among others
_PART = re.compile(r"(?:function|graph)_\d+\.js|times\.js")


def index_name(folder: str) -> str:
    """Return the name that index.html gets in a folder: its own, unless a file of someone else has it."""
    return INDEX if _may_write(os.path.join(folder, INDEX), MARK) else f"depyf_{INDEX}"


def side_name(folder: str) -> str:
    """Return the name that the folder of side files gets; FileExistsError where both names are someone else's."""
    for name in _SIDES:
        if not os.path.lexists(os.path.join(folder, name)) or _is_own_side(os.path.join(folder, name)):
            return name
    raise FileExistsError(errno.EEXIST, f"{' and '.join(_SIDES)} there are not depyf's", folder)


def page_above(folder: str) -> str:
    """Return the path of the page of all processes, by the name of the folder of one of them; empty for another."""
    return ABOVE if _PROCESS.fullmatch(os.path.basename(os.path.abspath(folder))) else ""


def is_own_index(path: str) -> bool:
    """Return whether there is a page of depyf's at a path."""
    return os.path.isfile(path) and _may_write(path, MARK)


def write_page(folder: str, files: Dict[str, str]) -> str:
    """Write the files of a page; return the path of index.html.  OSError where that is not possible."""
    write_parts(folder, files)
    path = os.path.join(folder, index_name(folder))
    _require_own(path, MARK)
    _write(path, files[INDEX])
    return path


def write_parts(folder: str, files: Dict[str, str]) -> None:
    """Write the side files of a page, and remove those of an earlier one.

    Each file is whole at any time.  Files that depyf did not write are not touched: FileExistsError where one of them
    is in the way.
    """
    parts = {name: text for name, text in files.items() if name != INDEX}
    for side in {os.path.dirname(name) for name in parts}:
        _make(os.path.join(folder, side))
        _remove_parts(os.path.join(folder, side), {os.path.basename(name) for name in parts})
    for name, text in parts.items():
        path = os.path.join(folder, name)
        _require_own(path, PART_START)
        _write(path, text)


def remove_parts(folder: str) -> None:
    """Remove the side files of a page, and their folder if it is empty then."""
    for side in [os.path.join(folder, name) for name in _SIDES]:
        if _is_own_side(side):
            _remove_parts(side, set())
            try:
                os.rmdir(side)  # fails when there is anything else in it
            except OSError:
                pass


def _make(side: str) -> None:
    """Make the folder of side files, unless it is there; not the one above it, which may have been removed."""
    try:
        os.mkdir(side)
    except FileExistsError:
        pass


def _remove_parts(side: str, keep: Set[str]) -> None:
    for name in os.listdir(side):
        path = os.path.join(side, name)
        if _PART.fullmatch(name) and name not in keep and _may_write(path, PART_START):
            os.remove(path)


def _is_own_side(path: str) -> bool:
    """Return whether a folder is one of side files that depyf made."""
    times = os.path.join(path, f"{TIMES}.js")
    return os.path.isdir(path) and not os.path.islink(path) and os.path.isfile(times) and _may_write(times, PART_START)


def _require_own(path: str, mark: str) -> None:
    if not _may_write(path, mark):
        raise FileExistsError(errno.EEXIST, "a file of that name is there, and depyf did not write it", path)


def _may_write(path: str, mark: str) -> bool:
    """Return whether there is nothing at a path, or a file that depyf wrote."""
    if not os.path.lexists(path):
        return True
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as stream:
            return mark.encode() in stream.read(len(mark) + 64)
    except OSError:
        return False


def _write(path: str, text: str) -> None:
    draft = f"{path}.depyf-draft"
    try:
        with open(draft, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(draft, path)
    except OSError:
        if os.path.lexists(draft):
            os.remove(draft)
        raise
