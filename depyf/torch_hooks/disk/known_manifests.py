"""Manifests that this process has written or parsed: no text is parsed twice.

Tests often enter a context each, and all in one folder: then each context reads the manifest of the one before, several
times, and it grows with every test.  Texts are recognised by digests; the record of the last one that this process
wrote is kept where the folder is in use for the second time, and what it wrote of each frame is not written again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Dict, NamedTuple, Tuple

from depyf.record.records import SessionRecord
from depyf.record.saved_form import GrowingText, from_json

_MOST = 64  # texts that are remembered


class Contents(NamedTuple):
    """What is read of a manifest besides its record."""

    is_ours: bool  # whether depyf wrote it: other programs have files of that name, too
    files: Tuple[str, ...] = ()  # that it lists


_known: Dict[bytes, Contents] = {}  # digest of a text -> what it holds
_last: Dict[bytes, Tuple[SessionRecord, GrowingText]] = {}  # that of the text written last -> its record, its writer


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
    return from_json(text) if found is None else found[0]


def write(record: SessionRecord, earlier: SessionRecord) -> str:
    """Return the text of a manifest, and remember it; `earlier` is what was read of the manifest before, or empty.

    A record is kept only where it is likely to be read again: where there was one before it.
    """
    writer = next((writer for known, writer in _last.values() if known is earlier), None) or GrowingText()
    text = writer.of(record)
    digest = _digest(text)
    _remember(digest, Contents(True, record.files))
    _last.clear()
    if earlier.functions:
        _last[digest] = (record, writer)
    return text


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
