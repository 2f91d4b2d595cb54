"""Files of others in a folder of ours: they stay as they are, and ours take other names.

Ours is what a manifest or a journal of ours lists, and a manifest that depyf wrote; what the user changed in such a
file, or put in its place, is replaced like the file itself. Anything else, a file, a folder or a link, is not touched:
numbered files take the next number that is free, and the files with one name only are called `depyf_<name>`.
"""

from __future__ import annotations

import errno
import itertools
import os
from typing import Container, Tuple

from depyf.problems import logger
from depyf.torch_hooks.disk.known_manifests import contents

MANIFEST = "manifest.json"
TIMINGS = "timings.json"
RANKS = "ranks.txt"
SUMMARY = "summary.txt"
INDEX = "index.html"
DRAFT = ".depyf-draft"  # a file that is being written; a process that was killed may leave one behind

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def names_for(name: str) -> Tuple[str, str]:
    """Return the two names that a file of ours may have."""
    return name, "depyf_" + name


def name_to_write(folder: str, name: str, own: Container[str]) -> str:
    """Return the name under which a file of ours is to be written: `name`, unless a file of someone else has it.

    `own` are the names of files that are ours. FileExistsError where both names are taken.
    """
    for candidate in names_for(name):
        path = os.path.join(folder, candidate)
        if candidate in own or not os.path.lexists(path) or (name == MANIFEST and is_own_manifest(path)):
            return candidate
    raise FileExistsError(errno.EEXIST, f"{' and '.join(names_for(name))} there are not depyf's", folder)


def is_own_manifest(path: str) -> bool:
    """Return whether a file is a manifest that depyf wrote, and may replace; a link is not."""
    return not os.path.islink(path) and contents(read_text(path)).is_ours


def read_manifest(folder: str) -> Tuple[str, str]:
    """Return the text and the name of our manifest in a folder; two empty strings where there is none."""
    for name in names_for(MANIFEST):
        text = read_text(os.path.join(folder, name), is_own=True)
        if contents(text).is_ours:
            return text, name
    return "", ""


def read_text(path: str, is_own: bool = False) -> str:
    """Return the text of a file; empty where it cannot be read: a pipe might never end.

    `is_own`: depyf wrote it, which a link cannot be, wherever it leads.
    """
    try:
        if not os.path.isfile(path) or (is_own and os.path.islink(path)):
            return ""
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def open_draft(folder: str) -> Tuple[str, int]:
    """Create a file for a text that is being written; return its path and descriptor."""
    for name in itertools.chain([DRAFT], (f"{DRAFT}-{number}" for number in itertools.count(1))):
        path = os.path.join(folder, name)
        try:
            return path, os.open(path, _NEW_FILE, 0o666)
        except FileExistsError:
            continue
    raise AssertionError("unreachable")


def log_kept(folder: str, name: str, own_name: str) -> None:
    """Log that a file of someone else stays, if one does: ours has another name then."""
    if own_name != name:
        logger.warning(
            "depyf leaves %s as it is: depyf did not write it. Its own is %s.", os.path.join(folder, name), own_name
        )
