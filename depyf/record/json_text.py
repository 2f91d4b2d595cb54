"""Records as JSON text, with the separators of the manifest or of the journal.

A record is written field by field under the names of its fields, without those that have their default: empty, false
or none.  A guard is written by its condition, a graph break and a skip with their reason on one line besides.  Models
have thousands of guards, for each of which the encoder would have to ask: their text is put together here, in half of
the time.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from json.encoder import encode_basestring
from typing import Any, Callable, Dict, List, Sequence, Tuple

from depyf.record.records import FrameRecord, GraphBreak, GuardRecord, Location, SessionRecord, SkipRecord


def _with_reason(record: Any) -> Dict[str, Any]:
    return {"reason": record.reason, **vars(record)}


def _of_session(record: SessionRecord) -> Dict[str, Any]:
    defaults = _defaults(SessionRecord)
    return {
        name: value
        for name, value in vars(record).items()
        if name in _ALWAYS or (name != "_index" and value != defaults.get(name, _NO_DEFAULT))
    }


_NO_DEFAULT = object()
# Fields of a session that are there whatever they hold.
_ALWAYS = ("schema", "functions", "frames", "graphs", "files", "problems", "skipped_frames", "complete")


@functools.lru_cache(maxsize=None)
def _defaults(cls: Any) -> Dict[str, Any]:
    """Return the defaults of the fields of a class that are empty, false, zero or none."""
    fields: Any = dataclasses.fields(cls)
    return {one.name: one.default for one in fields if one.default is not dataclasses.MISSING and not one.default}


# class of a record -> what JSON holds of one; other records are saved field by field
_WRITERS: Dict[type, Callable[[Any], Dict[str, Any]]] = {
    GraphBreak: _with_reason,
    SkipRecord: _with_reason,
    SessionRecord: _of_session,
}


def saved(record: Any) -> Dict[str, Any]:
    """Return what JSON holds of one record other than a guard; records inside of it are left as they are."""
    cls: Any = type(record)
    write = _WRITERS.get(cls)
    values = vars(record) if write is None else write(record)
    if cls is SessionRecord:
        return values
    defaults = _defaults(cls)
    return {name: value for name, value in values.items() if value != defaults.get(name, _NO_DEFAULT)}


class JsonText:
    """Writes values and records as JSON; what it is given has no cycles."""

    def __init__(self, comma: str, colon: str) -> None:
        self._comma = comma
        self._separators = (comma, colon)
        self._encode = self._encoder(saved)
        self._starts = (f'{{"condition"{colon}', f'{comma}"is_python"{colon}', f'{comma}"expression"{colon}')
        self._location = self._form(("file", "line", "function", "code"))
        self._no_guards = f'"guards"{colon}[]'
        self._guards = f'"guards"{colon}['

    def _encoder(self, fields_of: Any) -> Any:
        return json.JSONEncoder(
            ensure_ascii=False, check_circular=False, separators=self._separators, default=fields_of
        ).encode

    def _form(self, names: Sequence[str]) -> str:
        """Return the text of an object with these fields, in which their texts are to be filled in."""
        comma, colon = self._separators
        return "{" + comma.join([f'"{name}"{colon}%s' for name in names]) + "}"

    def of(self, value: Any) -> str:
        """Return the text of a value or record in which there are no guards."""
        text: str = self._encode(value)
        return text

    def of_whole(self, value: Any) -> str:
        """Return the text of a value or record."""
        waiting: List[Tuple[GuardRecord, ...]] = []  # the guards of each frame, in the order of the text

        def fields_of(record: Any) -> Dict[str, Any]:
            if not isinstance(record, FrameRecord):
                return saved(record)
            waiting.append(record.guards)
            return {**saved(record), "guards": ()}

        text: str = self._encoder(fields_of)(value)
        if not any(waiting):
            return text
        # In a string a quotation mark is escaped: this is found nowhere but at a field that is empty.
        first, *others = text.split(self._no_guards)
        assert len(others) == len(waiting)
        pieces = [first]
        for guards, after in zip(waiting, others):
            pieces += [self._guards, self._comma.join(self.of_guards(guards)), "]", after]
        return "".join(pieces)

    def of_guards(self, guards: Sequence[GuardRecord]) -> List[str]:
        """Return the text of each guard."""
        encode = encode_basestring
        start, is_python, expression = self._starts
        ends: Dict[Any, str] = {}  # what the layers of a model have in common -> its text
        texts = []
        for guard in guards:
            test = guard.test
            common = (guard.kind, id(guard.location), guard.from_torch, guard.of_sizes)
            end = ends.get(common)
            if end is None:
                end = ends[common] = self._end_of(guard)
            truth = "true" if test.is_python else "false"
            texts.append(f"{start}{encode(test.text)}{is_python}{truth}{expression}{encode(guard.expression)}{end}")
        return texts

    def _end_of(self, guard: GuardRecord) -> str:
        """Return the text of the fields that many guards share."""
        comma, colon = self._separators
        values = {
            "kind": encode_basestring(guard.kind),
            "location": "null" if guard.location is None else self._of_location(guard.location),
            "from_torch": "true" if guard.from_torch else "false",
            "of_sizes": "true" if guard.of_sizes else "false",
        }
        return "".join([f'{comma}"{name}"{colon}{value}' for name, value in values.items()]) + "}"

    def _of_location(self, location: Location) -> str:
        encode = encode_basestring
        return self._location % (
            encode(location.file),
            location.line,
            encode(location.function),
            encode(location.code),
        )
