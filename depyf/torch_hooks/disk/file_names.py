"""File names that every file system takes, and that are the same in every run."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata

_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]+")
_UNNAMED = ("<lambda>", "<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
_LONGEST_STEM = 120  # bytes: prefix and suffixes of ours fit the usual limit of 255


def file_stem(name: str) -> str:
    """Return `name` as part of a file name: safe characters only, short, and different for different names.

    Characters of Python names are kept, in any script, where the file system of this process can store them.  The
    result is composed (NFC): macOS takes it and its decomposed form for the same name.  Every file name of ours has a
    prefix before the stem, so reserved names (`con`, `nul`) and leading dots do no harm.  Names that differ in case
    only are left to the folder, which never gives them the same number.
    """
    if name in _UNNAMED:
        return name.strip("<>")
    safe = _UNSAFE.sub("_", name) if name.isascii() or not _takes(name) else _legible(name)
    if safe == name and len(safe.encode()) <= _LONGEST_STEM and name.strip("_."):
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    short = safe.strip("_.").encode()[:_LONGEST_STEM].decode(errors="ignore")
    return f"{short or 'function'}_{digest}"


def full_code_template(function: str) -> str:
    """Return the name of the `full_code` file of a function, with `{}` in the place of its number."""
    return "full_code_for_" + file_stem(function) + "_{}.py"


def _legible(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    return "".join([one if one in ".-" or ("_" + one).isidentifier() else "_" for one in composed])


def _takes(name: str) -> bool:
    """Return whether the file system encoding of this process has all characters of the name."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return sys.getfilesystemencoding().lower().startswith("utf")  # lone surrogates, which are left out anyway
    return True


def same_file(name: str) -> str:
    """Return a key that is equal for two file names which some file system takes for one."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name.casefold())
