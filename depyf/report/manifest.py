"""`manifest.json`: the record itself, for every later view and for other tools."""

from __future__ import annotations

from depyf.record import SessionRecord, from_json, to_json


def render(record: SessionRecord) -> str:
    """The text of manifest.json."""
    return to_json(record)


def load(text: str) -> SessionRecord:
    """The record in the text of a manifest.json; RecordFormatError for anything else."""
    return from_json(text)
