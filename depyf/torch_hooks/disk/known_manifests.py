"""Manifests that this process has written or parsed: no text is parsed twice.

Tests often enter a context each, and all in one folder: then each context reads the manifest of the one before, several
times, and it grows with every test.  Texts are recognised by digests; the record of the last one that this process
wrote is kept where the folder is in use for the second time.
"""

from __future__ import annotations

import hashlib
import json
from typing import Dict, NamedTuple, Tuple

from depyf.record.records import SessionRecord
from depyf.record.saved_form import from_json

_MOST = 64  # texts that are remembered


class Contents(NamedTuple):
    """What is read of a manifest besides its record."""

    is_ours: bool  # whether depyf wrote it: other programs have files of that name, too
    files: Tuple[str, ...] = ()  # that it lists


_known: Dict[bytes, Contents] = {}  # digest of a text -> what it holds
_last: Dict[bytes, SessionRecord] = {}  # that of the text that was written last -> its record


def contents(text: str) -> Contents:
    """Return what is in a manifest; a text that is none is not ours."""
    if not text:
        return Contents(False)
    digest = _digest(text)
    found = _known.get(digest)
    return _remember(digest, _parsed(text)) if found is None else found


def read(text: str) -> SessionRecord:
    """Return the record of a manifest; RecordFormatError or another ValueError where it is none."""
    found = _last.get(_digest(text))
    return from_json(text) if found is None else found


def add(text: str, record: SessionRecord, is_read_again: bool) -> None:
    """Remember a manifest that this process has written; the record only if the text is likely to be read again."""
    digest = _digest(text)
    _remember(digest, Contents(True, record.files))
    _last.clear()
    if is_read_again:
        _last[digest] = record


def _remember(digest: bytes, found: Contents) -> Contents:
    if len(_known) >= _MOST:
        _known.clear()
    _known[digest] = found
    return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


def _parsed(text: str) -> Contents:
    try:
        data = json.loads(text)
        if not isinstance(data["schema"], int) or "depyf" not in data["versions"]:
            return Contents(False)
    except (ValueError, KeyError, TypeError):
        return Contents(False)
    files = data.get("files")
    return Contents(True, tuple([name for name in files if isinstance(name, str)]) if isinstance(files, list) else ())
