"""The saved form of a record: the JSON text of `manifest.json`, and back.  `to_json` and `from_json` are inverses.

`json_text` writes the records, `manifest.json` being laid out so that a person can read it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from typing import Any, Callable, Dict, Tuple, Type, TypeVar

from depyf.record.json_text import JsonText, saved
from depyf.record.records import SCHEMA_VERSION, GuardRecord, SessionRecord
from depyf.record.schema_1 import READERS

T = TypeVar("T")
Reader = Callable[[Any], Any]


class RecordFormatError(ValueError):
    """The text is no record that this version of depyf can read."""


_TEXT = JsonText(", ", ": ")


def to_json(record: SessionRecord, compact: bool = False) -> str:
    """Return the text of the record: same record, same bytes.  The compact form is made several times as fast."""
    values = saved(record)
    if compact:
        return _TEXT.of_whole(values) + "\n"
    fields = [f" {_TEXT.of(name)}: {_listed(value)}" for name, value in values.items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _listed(value: Any) -> str:
    """Write a field of the session: functions, frames and graphs with a line for each field of theirs."""
    if not isinstance(value, tuple) or not value:
        return _TEXT.of(value)
    return "[\n" + ",\n".join(["  " + _spread(item) for item in value]) + "\n ]"


def _spread(item: Any) -> str:
    if not dataclasses.is_dataclass(item):
        return _TEXT.of(item)
    fields = [f"   {_TEXT.of(name)}: {_lines(value)}" for name, value in saved(item).items()]
    return "{\n" + ",\n".join(fields) + "\n  }"


def _lines(value: Any) -> str:
    """Write a field of a frame or graph: each guard, stage or graph break on one line."""
    if not isinstance(value, tuple) or not dataclasses.is_dataclass(value[0] if value else None):
        return _TEXT.of(value)
    texts = _TEXT.of_guards(value) if isinstance(value[0], GuardRecord) else map(_TEXT.of, value)
    return "[\n" + ",\n".join(["    " + text for text in texts]) + "\n   ]"


def from_json(text: str) -> SessionRecord:
    """Return the record that `to_json` wrote.

    A manifest of schema 1 becomes a record of this schema.  Fields unknown to this version are ignored, missing ones
    get their default.  A text that is no record raises RecordFormatError.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise RecordFormatError("this is not a depyf manifest: it has no schema number")
    if data["schema"] > SCHEMA_VERSION:
        raise RecordFormatError(
            f"the manifest has schema {data['schema']}, this depyf reads up to {SCHEMA_VERSION}: update depyf"
        )
    return build(SessionRecord, {**data, "schema": SCHEMA_VERSION})


def build(cls: Type[T], data: Dict[str, Any]) -> T:
    """Return the record of that class that JSON holds as `data`; RecordFormatError when something is missing."""
    fields = _fields(cls)  # type: ignore[arg-type]
    try:
        if cls in READERS:
            data = READERS[cls](dict(data))
        known = {name: data[name] if read is None else read(data[name]) for name, read in fields if name in data}
        return cls(**known)
    except (TypeError, KeyError, AttributeError) as error:
        raise RecordFormatError(f"a {cls.__name__} in the manifest is incomplete: {error}") from error


@functools.lru_cache(maxsize=None)
def _fields(cls: Any) -> Tuple[Tuple[str, Reader | None], ...]:
    """Return each field of a class with what makes its value of that in JSON; None where they are the same."""
    return tuple((name, _reader(hint)) for name, hint in typing.get_type_hints(cls).items())


def _reader(hint: Any) -> Reader | None:
    arguments: Any = getattr(hint, "__args__", ())
    origin = getattr(hint, "__origin__", None)
    if origin is typing.Union:
        return _reader(arguments[0]) if type(None) in arguments else None  # other unions come from `READERS` as records
    if origin is tuple:
        read = _reader(arguments[0])
        return lambda items: items if items is None else tuple(items if read is None else [read(one) for one in items])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda data: data if data is None else build(hint, data)
    return None
