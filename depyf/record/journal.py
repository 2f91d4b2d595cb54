"""`depyf_journal.jsonl`: the record in pieces, a line each, so that a killed process leaves what it recorded.

Each line is a JSON object; its first key is its kind:

    {"header": {...}}                     which process writes, in which run, since when
    {"file": "name.py"}                   a file that is about to be written
    {"compiling": "0/0", "what": "..."}   Dynamo starts on a frame
    {"compiled": "0/0"}                   ... and is done with it
    {"function": {...}}                   a FunctionRecord, new or changed (by its key)
    {"frame": 3, "value": {...}}          the FrameRecord at that place, new or changed; its guards in the short form
    {"graph": 2, "value": {...}}          the GraphRecord at that place, new or changed

A later line replaces an earlier one about the same thing, so replaying is idempotent: the journal may repeat what a
manifest of the same session already holds.  A line that was cut off is skipped.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Iterator, List, Tuple, TypeVar

from depyf.record.json_text import JsonText, with_layers
from depyf.record.records import FrameRecord, FunctionRecord, GraphRecord, SessionRecord
from depyf.record.saved_form import RecordFormatError, build

T = TypeVar("T")

_TEXT = JsonText(",", ":", is_short=True)


def line(**content: Any) -> str:
    """Return one line of the journal, with the records in it."""
    return _TEXT.of_whole(content)


def header_of(text: str) -> Dict[str, Any]:
    """Return what the first line holds about the process; empty when there is none."""
    for entry in _entries(text[: text.find("\n") + 1]):
        header = entry.get("header")
        return header if isinstance(header, dict) else {}
    return {}


def file_names(text: str) -> Iterator[str]:
    """Yield the files that the journal lists, also those that were never finished."""
    return (entry["file"] for entry in _entries(text) if isinstance(entry.get("file"), str))


def replay(base: SessionRecord, text: str) -> SessionRecord:
    """Return `base` continued by the journal.  It is not complete: the session never ended."""
    return _Replay(base, text).record()


class _Replay:
    def __init__(self, base: SessionRecord, text: str) -> None:
        self._base = base
        self._functions: Dict[str, FunctionRecord] = {function.key: function for function in base.functions}
        self._frames: Dict[int, FrameRecord] = dict(enumerate(base.frames))
        self._graphs: Dict[int, GraphRecord] = dict(enumerate(base.graphs))
        self._files = dict.fromkeys(base.files)
        self._open: Dict[str, str] = {}  # compile id -> what is being compiled
        self._header: Dict[str, Any] = header_of(text)
        for entry in _entries(text):
            try:
                self._apply(entry)
            except (RecordFormatError, TypeError, ValueError, KeyError, IndexError, AttributeError):
                continue  # a line that another version wrote

    def _apply(self, entry: Dict[str, Any]) -> None:
        if "file" in entry:
            self._files[entry["file"]] = None
        elif "compiling" in entry:
            self._open[entry["compiling"]] = str(entry.get("what", ""))
        elif "compiled" in entry:
            self._open.pop(entry["compiled"], None)
        elif "function" in entry:
            function = build(FunctionRecord, entry["function"])
            self._functions[function.key] = function
        elif "frame" in entry:
            value = entry["value"]
            self._frames[int(entry["frame"])] = build(
                FrameRecord, {**value, "guards": with_layers(value.get("guards", ()))}
            )
        elif "graph" in entry:
            self._graphs[int(entry["graph"])] = build(GraphRecord, entry["value"])

    def record(self) -> SessionRecord:
        return dataclasses.replace(
            self._base,
            complete=False,
            compiling=tuple(f"{what} [{number}]" for number, what in self._open.items()),
            rank=self._header.get("rank", self._base.rank),
            world_size=self._header.get("world_size", self._base.world_size),
            functions=tuple(self._functions.values()),
            frames=_in_order(self._frames),
            graphs=_in_order(self._graphs),
            files=tuple(sorted(self._files)),
        )


def _in_order(by_place: Dict[int, T]) -> Tuple[T, ...]:
    return tuple(by_place[place] for place in sorted(by_place))


def _entries(text: str) -> Iterator[Dict[str, Any]]:
    for one in _whole_lines(text):
        try:
            entry = json.loads(one)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _whole_lines(text: str) -> List[str]:
    return [one for one in text.split("\n")[:-1] if one]
