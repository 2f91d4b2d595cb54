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
    """`name` as part of a file name: safe characters only, short, and different names stay different.

    What may stand in a Python name may stand in the name of a file, too, in any script, where the file system of this
    process has characters at all.  It is composed (NFC): macOS would not tell it from its decomposed form.  Every file
    name of ours has a prefix before the stem, so reserved names (`con`, `nul`) and leading dots do no harm.  Names that
    differ in case only are the folder's business: it never gives them the same number.
    """
    if name in _UNNAMED:
        return name.strip("<>")
    safe = _UNSAFE.sub("_", name) if name.isascii() or not _takes(name) else _legible(name)
    if safe == name and len(safe.encode()) <= _LONGEST_STEM and name.strip("_."):
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    short = safe.strip("_.").encode()[:_LONGEST_STEM].decode(errors="ignore")
    return f"{short or 'function'}_{digest}"


def _legible(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    return "".join([one if one in ".-" or ("_" + one).isidentifier() else "_" for one in composed])


def _takes(name: str) -> bool:
    """Whether the file system, as this process sees it, has all characters of the name."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return sys.getfilesystemencoding().lower().startswith("utf")  # lone surrogates, which are left out anyway
    return True


def same_file(name: str) -> str:
    """Equal for two file names that some file system takes for one."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name.casefold())
