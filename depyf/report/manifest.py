"""`manifest.json`: the record itself, for every later view and for other tools."""

from __future__ import annotations

from depyf.record.records import SessionRecord
from depyf.record.saved_form import from_json, to_json


def render(record: SessionRecord) -> str:
    """Return the text of manifest.json."""
    return to_json(record)


def load(text: str) -> SessionRecord:
    """Return the record in the text of a manifest.json; RecordFormatError for anything else."""
    return from_json(text)
