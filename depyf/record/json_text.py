"""Records as JSON text, with the separators of the manifest or of the journal.

A record is written field by field under the names of its fields, without those that have their default: empty, false
or none.  A guard is written by its condition, a graph break and a skip with their reason on one line besides.  Models
have thousands of guards, for each of which the encoder would have to ask: their text is put together here, and that of
repeated layers by putting in the name of each layer.  The short form leaves that to whoever reads it (`with_layers`):

    {"layer": "self.blocks[0]", "expression": "L['self']...", "form": [...]}    guards with `LAYER` for the layer
    {"layer": "self.blocks[1]", "expression": "L['self']...", "form": 0}        of the first form that came
"""

from __future__ import annotations

import dataclasses
import functools
import json
from json.encoder import encode_basestring
from typing import Any, Callable, Dict, List, Sequence

from depyf.record.guard_list import LAYER, GuardList, LayerForm, LayerGuards
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


# They stand for a layer in the texts of its guards: no text of JSON has these characters.
_SHOWN, _AS_TORCH = "\0", "\1"


def _in_form(text: str) -> str:
    return text.replace(_SHOWN, LAYER).replace(_AS_TORCH, LAYER)


def with_layers(guards: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Return what JSON holds of guards, given its short form: one for each guard."""
    found: List[Dict[str, Any]] = []
    forms: List[List[Dict[str, Any]]] = []
    for guard in guards:
        if "layer" not in guard:
            found.append(guard)
            continue
        shown, expression, form = guard["layer"], guard["expression"], guard["form"]
        if isinstance(form, list):
            forms.append(form)
        for one in forms[form] if isinstance(form, int) else form:
            condition, of_torch = one["condition"].replace(LAYER, shown), one["expression"].replace(LAYER, expression)
            found.append({**one, "condition": condition, "expression": of_torch})
    return found


class JsonText:
    """Writes values and records as JSON; what it is given has no cycles."""

    def __init__(self, comma: str, colon: str, is_short: bool = False) -> None:
        self._comma = comma
        self._is_short = is_short
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
        waiting: List[Sequence[GuardRecord]] = []  # the guards of each frame, in the order of the text

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
        """Return the text of each guard; those of a layer are one text."""
        ends: Dict[Any, str] = {}  # what the layers of a model have in common -> its text
        if not isinstance(guards, GuardList):
            return self._of_each(guards, ends)
        forms: Dict[LayerForm, str] = {}
        texts: List[str] = []
        for piece in guards.pieces:
            if isinstance(piece, GuardRecord):
                texts += self._of_each((piece,), ends)
                continue
            known = forms.get(piece.form)
            if known is None:
                form = self._comma.join(self._of_each(piece.form.records, ends, (_SHOWN, _AS_TORCH)))
                known = forms[piece.form] = str(len(forms)) if self._is_short else form
                texts.append(self._of_layer(piece, f"[{_in_form(form)}]" if self._is_short else form))
            else:
                texts.append(self._of_layer(piece, known))
        return texts

    def _of_layer(self, layer: LayerGuards, form: str) -> str:
        """Return the text of the guards of a layer, given that of the form."""
        shown, expression = encode_basestring(layer.shown), encode_basestring(layer.expression)
        if not self._is_short:
            return form.replace(_SHOWN, shown[1:-1]).replace(_AS_TORCH, expression[1:-1])
        comma, colon = self._separators
        return f'{{"layer"{colon}{shown}{comma}"expression"{colon}{expression}{comma}"form"{colon}{form}}}'

    def _of_each(
        self, guards: Sequence[GuardRecord], ends: Dict[Any, str], marks: Sequence[str] = (LAYER, LAYER)
    ) -> List[str]:
        """Return the text of each guard; `marks` stand for the layer in condition and expression."""
        encode = encode_basestring
        start, is_python, expression = self._starts
        shown, as_torch = marks
        is_form = shown != LAYER
        texts = []
        for guard in guards:
            test = guard.test
            common = (guard.kind, id(guard.location), guard.from_torch, guard.of_sizes)
            end = ends.get(common)
            if end is None:
                end = ends[common] = self._end_of(guard)
            truth = "true" if test.is_python else "false"
            condition, of_torch = encode(test.text), encode(guard.expression)
            if is_form:
                condition, of_torch = condition.replace(LAYER, shown), of_torch.replace(LAYER, as_torch)
            texts.append(f"{start}{condition}{is_python}{truth}{expression}{of_torch}{end}")
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
