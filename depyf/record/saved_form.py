"""The saved form of a record: the JSON text of `manifest.json`, and back.  `to_json` and `from_json` are inverses."""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from typing import Any, Type, TypeVar

from depyf.record.records import SCHEMA_VERSION, SessionRecord

T = TypeVar("T")


class RecordFormatError(ValueError):
    """The text is no record that this version of depyf can read."""


def to_json(record: SessionRecord, compact: bool = False) -> str:
    """Text of the record, stable: same record, same bytes.  The compact form is made several times as fast."""
    values = {one.name: getattr(record, one.name) for one in dataclasses.fields(record)}
    if compact:
        return _compact(values) + "\n"
    fields = [f" {_compact(name)}: {_listed(value)}" for name, value in values.items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


_compact = json.JSONEncoder(ensure_ascii=False, default=vars).encode


def _listed(value: Any) -> str:
    """A field of the session: functions, frames and graphs with a line for each field of theirs."""
    if not isinstance(value, tuple) or not value:
        return _compact(value)
    return "[\n" + ",\n".join(["  " + _spread(item) for item in value]) + "\n ]"


def _spread(item: Any) -> str:
    if not dataclasses.is_dataclass(item):
        return _compact(item)
    return "{\n" + ",\n".join([f"   {_compact(name)}: {_lines(value)}" for name, value in vars(item).items()]) + "\n  }"


def _lines(value: Any) -> str:
    """A field of a frame or graph: each guard, stage or graph break on one line."""
    if not isinstance(value, tuple) or not dataclasses.is_dataclass(value[0] if value else None):
        return _compact(value)
    return "[\n" + ",\n".join(["    " + _compact(item) for item in value]) + "\n   ]"


def from_json(text: str) -> SessionRecord:
    """The record that `to_json` wrote.

    Fields unknown to this version are ignored, missing ones get their default.  A text that is no record
    raises RecordFormatError.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise RecordFormatError("this is not a depyf manifest: it has no schema number")
    if data["schema"] > SCHEMA_VERSION:
        raise RecordFormatError(
            f"the manifest has schema {data['schema']}, this depyf reads up to {SCHEMA_VERSION}: update depyf"
        )
    return build(SessionRecord, data)


def build(cls: Type[T], data: typing.Dict[str, Any]) -> T:
    """The record of that class that JSON holds as `data`; RecordFormatError when something is missing."""
    hints = _hints(cls)  # type: ignore[arg-type]
    known = {name: _value(hints[name], data[name]) for name in hints if name in data}
    try:
        return cls(**known)
    except TypeError as error:
        raise RecordFormatError(f"a {cls.__name__} in the manifest is incomplete: {error}") from error


@functools.lru_cache(maxsize=None)
def _hints(cls: type) -> typing.Dict[str, Any]:
    return typing.get_type_hints(cls)


def _value(hint: Any, data: Any) -> Any:
    """`data`, as JSON holds it, in the type that the field declares."""
    if data is None:
        return None
    arguments: Any = getattr(hint, "__args__", ())
    origin = getattr(hint, "__origin__", None)
    if origin is typing.Union:
        return _value(arguments[0], data)
    if origin is tuple:
        return tuple(_value(arguments[0], item) for item in data)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, data)
    return data
