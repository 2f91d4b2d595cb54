"""The saved form of a record: the JSON text of `manifest.json`, and back.  `to_json` and `from_json` are inverses.

Each record is an object with the names of its fields, laid out so that a person can read it.  What thousands of records
repeat stands once, in tables at the end (`manifest_tables`): guards, lines of source, and the calls that led to nodes
of graphs.  Schema 3 had the sources in place; schemas 1 and 2, and the journal, all of it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from collections import abc
from typing import Any, Callable, Dict, Sequence, Tuple, Type, TypeVar

from depyf.record.json_text import JsonText, saved
from depyf.record.manifest_tables import TableReader, TableWriter
from depyf.record.records import (
    SCHEMA_VERSION,
    FailedGuard,
    FrameRecord,
    FunctionRecord,
    GraphBreak,
    GraphRecord,
    KernelSource,
    NodeSource,
    OriginalFunction,
    SessionRecord,
    SkippedFrame,
    SkipRecord,
)
from depyf.record.schema_1 import READERS

T = TypeVar("T")
Reader = Callable[[Any], Any]


class RecordFormatError(ValueError):
    """The text is no record that this version of depyf can read."""


_TEXT = JsonText(",", ":")


# ---------------------------------------------------------------- writing


def to_json(record: SessionRecord, compact: bool = False) -> str:
    """Return the text of the record: same record, same bytes.  The compact form has the tables in place."""
    if compact:
        return _TEXT.of_whole(saved(dataclasses.replace(record, schema=_WITHOUT_TABLES))) + "\n"
    return GrowingText().of(record)


_WITHOUT_TABLES = 2  # the schema that holds everything in place


class GrowingText:
    """Writes records of which each holds most of the one before: what is written already is not written again.

    The tables keep their rows, so the text of an item stays true; rows of an item that is gone stay, too.
    """

    def __init__(self) -> None:
        self._writer = TableWriter()
        self._items: Dict[int, Tuple[Any, str]] = {}  # id of a function, frame or graph -> it, and its text

    def of(self, record: SessionRecord) -> str:
        """Return the text of a record."""
        written, self._items = self._items, {}
        values = saved(record)
        files = values.pop("user_files", ())
        fields = [f" {_TEXT.of(name)}:{self._listed(value, written)}" for name, value in values.items()]
        fields += [f' "{name}":{_rows(rows)}' for name, rows in self._writer.texts(files).items()]
        return "{\n" + ",\n".join(fields) + "\n}\n"

    def _listed(self, value: Any, written: Dict[int, Tuple[Any, str]]) -> str:
        """Write a field of the session: functions, frames and graphs with a line for each field of theirs."""
        if not isinstance(value, tuple) or not value:
            return _TEXT.of(value)
        if not dataclasses.is_dataclass(value[0]):
            return _rows([_TEXT.of(item) for item in value])
        texts = []
        for item in value:
            known = written.get(id(item))
            if known is None:
                known = (item, _spread(item, self._writer))
            self._items[id(item)] = known
            texts.append(known[1])
        return _rows(texts)


def _rows(texts: Sequence[str]) -> str:
    return "[\n" + ",\n".join(texts) + "]" if texts else "[]"


def _spread(item: Any, writer: TableWriter) -> str:
    """Write a function, frame or graph, with a line for each field."""
    values = _in_rows(item, writer)
    if isinstance(item, FrameRecord):
        values["guards"] = writer.add_guards(item.guards)
    elif isinstance(item, GraphRecord):
        rows = {
            "sources": tuple([_with_rows(one, writer) for one in item.sources]),
            "kernels": tuple([_with_sources(one, writer) for one in item.kernels]),
        }
        values.update((name, value) for name, value in rows.items() if value)
    return "{" + ",\n ".join([f"{_TEXT.of(name)}:{_lines(value)}" for name, value in values.items()]) + "}"


# class of a record -> its fields that are rows of a table, and those that hold records with such fields
_LOCATIONS: Dict[type, Tuple[str, ...]] = {
    FunctionRecord: ("called_at", "decorators"),
    FrameRecord: ("called_from",),
    FailedGuard: ("stack",),
    GraphBreak: ("stack",),
    SkipRecord: ("stack", "called_from"),
}
_TEXTS: Dict[type, Tuple[str, ...]] = {FrameRecord: ("assumptions",), GraphBreak: ("explanation",)}
_LINES = (FunctionRecord, OriginalFunction, FrameRecord)  # whose source is rows of lines
_INSIDE: Dict[type, Tuple[str, ...]] = {
    FunctionRecord: ("skips", "original"),
    FrameRecord: ("failed_guards", "graph_breaks"),
    SkipRecord: ("failed_guards", "graph_breaks"),
    SkippedFrame: ("skip",),
}


def _in_rows(item: Any, writer: TableWriter) -> Dict[str, Any]:
    """Return the fields of a record, with rows in the place of what the tables hold."""
    values = dict(saved(item))
    if isinstance(item, _LINES):
        values["source"] = writer.add_lines(item.source)
    for names, add in ((_LOCATIONS, writer.add_location), (_TEXTS, writer.add_text), (_INSIDE, None)):
        for name in names.get(type(item), ()):
            value = values.get(name)
            if isinstance(value, tuple):
                values[name] = tuple([_in_rows(one, writer) if add is None else add(one) for one in value])
            elif value is not None:
                values[name] = _in_rows(value, writer) if add is None else add(value)
    return values


def _with_rows(source: NodeSource, writer: TableWriter) -> Dict[str, Any]:
    return {**vars(source), "calls": [writer.add_location(call) for call in source.calls]}


def _with_sources(kernel: Any, writer: TableWriter) -> Dict[str, Any]:
    found = []
    for source in kernel.sources:
        calls = [[writer.add_location(call) for call in one] for one in source.calls]
        found.append({**vars(source), "calls": calls})
    return {**saved(kernel), "sources": found} if found else dict(saved(kernel))


def _lines(value: Any) -> str:
    """Write a field of a frame or graph: each stage, graph break or source of nodes on one line."""
    if not isinstance(value, tuple) or not (
        value and (isinstance(value[0], dict) or dataclasses.is_dataclass(value[0]))
    ):
        return _TEXT.of(value)
    return "[\n  " + ",\n  ".join([_TEXT.of(one) for one in value]) + "]"


# ---------------------------------------------------------------- reading


def from_json(text: str) -> SessionRecord:
    """Return the record that `to_json` wrote.

    A manifest of an earlier schema becomes a record of this one.  Fields unknown to this version are ignored, missing
    ones get their default.  A text that is no record raises RecordFormatError.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise RecordFormatError("this is not a depyf manifest: it has no schema number")
    if data["schema"] > SCHEMA_VERSION:
        raise RecordFormatError(
            f"the manifest has schema {data['schema']}, this depyf reads up to {SCHEMA_VERSION}: update depyf"
        )
    if data["schema"] > _WITHOUT_TABLES:
        try:
            data = _without_tables(data)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError) as error:
            raise RecordFormatError(f"a table of the manifest is incomplete: {error!r}") from error
    return build(SessionRecord, {**data, "schema": SCHEMA_VERSION})


def _without_tables(data: Dict[str, Any]) -> Dict[str, Any]:
    """Return the data with records in place of rows of the tables."""
    if "guards" not in data:
        return data
    reader = TableReader(data)
    frames = [
        {**_out_of_rows(FrameRecord, frame, reader), "guards": reader.guards(frame.get("guards", ()))}
        for frame in data.get("frames", ())
    ]
    graphs = [_with_calls(graph, reader) for graph in data.get("graphs", ())]
    functions = [_out_of_rows(FunctionRecord, one, reader) for one in data.get("functions", ())]
    skipped = [_out_of_rows(SkippedFrame, one, reader) for one in data.get("skipped_frames", ())]
    files = reader.user_files(data.get("user_files", ()))
    read = {"functions": functions, "frames": frames, "graphs": graphs, "skipped_frames": skipped, "user_files": files}
    return {**data, **read}


_KINDS_INSIDE: Dict[str, type] = {
    "skips": SkipRecord,
    "skip": SkipRecord,
    "failed_guards": FailedGuard,
    "graph_breaks": GraphBreak,
    "original": OriginalFunction,
}


def _out_of_rows(cls: type, data: Dict[str, Any], reader: TableReader) -> Dict[str, Any]:
    """Return what JSON holds of a record with what the tables hold in the place of their rows."""
    values = dict(data)
    if cls in _LINES and "source" in values:
        values["source"] = reader.lines(values["source"])
    for names, read in ((_LOCATIONS, reader.location), (_TEXTS, reader.text), (_INSIDE, None)):
        for name in names.get(cls, ()):
            value = values.get(name)
            if value is None:
                continue
            items = [
                _out_of_rows(_KINDS_INSIDE[name], one, reader) if read is None else read(one)
                for one in (value if isinstance(value, list) else [value])
            ]
            values[name] = items if isinstance(value, list) else items[0]
    return values


def _with_calls(graph: Dict[str, Any], reader: TableReader) -> Dict[str, Any]:
    sources = [
        NodeSource(tuple(map(reader.location, one["calls"])), tuple(one["nodes"])) for one in graph.get("sources", ())
    ]
    kernels = [
        {**kernel, "sources": [_kernel_source(one, reader) for one in kernel.get("sources", ())]}
        for kernel in graph.get("kernels", ())
    ]
    return {**graph, "sources": sources, "kernels": kernels}


def _kernel_source(source: Dict[str, Any], reader: TableReader) -> KernelSource:
    calls = tuple([tuple(map(reader.location, one)) for one in source["calls"]])
    return KernelSource(source["kernel"], tuple(source["nodes"]), calls)


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
    if origin in (tuple, abc.Sequence):
        read = _reader(arguments[0])
        return lambda items: items if items is None else tuple(items if read is None else [read(one) for one in items])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda data: data if data is None or isinstance(data, hint) else build(hint, data)
    return None
