"""Short paths of source files, always the same way: as Python imports them.

    /home/me/project/models/net.py                             models/net.py
    /venv/lib/python3.11/site-packages/torch/nn/linear.py      torch/nn/linear.py

A path is cut after the folder that Python found the file in; that of the program itself is the first of these.
Folders of installed packages and of Python's own library need not be given: they are recognised by their names.
"""

from __future__ import annotations

import re
from typing import Dict, List, Sequence

_INSTALLED = re.compile(r".*[\\/](?:site-packages|dist-packages|lib[\\/]python3\.\d+)[\\/](?=[^\\/])")


def is_recognised(folder: str) -> bool:
    """Return whether paths are cut after this folder even where it is not given."""
    found = _INSTALLED.match(f"{folder}/x")
    return found is not None and found.end() == len(folder) + 1


class ShortPaths:
    """Shortens paths of files by the folders that Python imports from."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        whole = {folder.rstrip("/\\") for folder in folders if len(folder) > 1}
        self._folders: List[str] = sorted(whole, key=len, reverse=True)
        self._program = folders[0].rstrip("/\\") if folders else ""
        self._known: Dict[str, str] = {}

    def of(self, file: str) -> str:
        """Return the short path of `file`, or the whole one where it is in none of the folders."""
        short = self._known.get(file)
        if short is None:
            short = self._known[file] = self._cut(file)
        return short

    def is_of_program(self, file: str) -> bool:
        """Return whether the file is in the folder of the program and not in an installed package."""
        is_inside = bool(self._program) and file.startswith((self._program + "/", self._program + "\\"))
        return (is_inside or not file.startswith(("/", "<"))) and _INSTALLED.match(file) is None

    def _cut(self, file: str) -> str:
        found = _INSTALLED.match(file)
        start = 0 if found is None else found.end()
        for folder in self._folders:
            if len(folder) >= start and file.startswith(folder) and file[len(folder) : len(folder) + 1] in ("/", "\\"):
                start = len(folder) + 1
                break
        return file[start:].replace("\\", "/") if start else file
