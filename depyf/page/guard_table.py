"""The guards in the data of a function's view: `[condition, kind, place, flags]`, those of all versions, each once.

Guards of repeated layers are a row `[form, layer]`: the form is a number of the list beside the rows, and holds rows
with `MARK` for the layer.  The page's script puts the layer in; a guard's number is that of the rows that result.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple, Union

from depyf.page.place_table import Place, PlaceTable
from depyf.record.guard_list import LAYER, GuardList, LayerForm, LayerGuards, are_apart
from depyf.record.records import GuardRecord

_PYTHON, _OF_TORCH, _OF_SIZES = 1, 2, 4  # flags, as in the manifest
_APART = 8  # not all versions of the function have it
_MOST_COMPARED = 20_000  # guards with those of the next version: a function may have hundreds of resume functions
MARK = "\0"  # in no condition of a layer

# Of texts and numbers alone: nothing for the garbage collector.
_GuardRow = Tuple[str, str, Optional[Place], int]
_LayerRow = Tuple[int, str]


class GuardTable:
    """Numbers the guards of a function: its versions share most of them."""

    def __init__(self, places: PlaceTable) -> None:
        self.rows: List[Union[_GuardRow, _LayerRow]] = []
        self.forms: List[List[_GuardRow]] = []
        self._places = places
        self._count = 0  # of guards: a layer has many
        self._numbers: Dict[Tuple[str, str, int, Optional[str], int], int] = {}  # of the place: file and line
        self._shown: Dict[int, Optional[Place]] = {}  # id of a place, which many guards have -> its row
        self._form_numbers: Dict[LayerForm, int] = {}
        self._layers: Dict[Tuple[LayerForm, str], Tuple[LayerGuards, int]] = {}  # a layer -> it, and its first guard

    def add(self, guards: Sequence[GuardRecord], apart: Dict[str, int]) -> List[int]:
        """Return the numbers of a version's guards, those first that not all versions have; `apart` counts them."""
        if isinstance(guards, GuardList) and not apart and self._fits(guards):
            return self._add_pieces(guards)
        self._spread()
        differing = [guard for guard in guards if guard.condition in apart] if apart else []
        others = [guard for guard in guards if guard.condition not in apart] if apart else guards
        return [self._number(guard, True) for guard in differing] + [self._number(guard, False) for guard in others]

    def _fits(self, guards: GuardList) -> bool:
        """Return whether the layers of a version are not those of guards that are in the table one by one."""
        if len(self._numbers) > _MOST_COMPARED or len(self._layers) > _MOST_COMPARED // 10:
            return False
        layers = {key: layer for key, (layer, _) in self._layers.items()}
        layers.update({(one.form, one.shown): one for one in guards.pieces if isinstance(one, LayerGuards)})
        single = [one.test.text for one in guards.pieces if isinstance(one, GuardRecord)]
        single += [key[0] for key in self._numbers]
        return are_apart(layers.values(), single) and not any(MARK in form.text for form, _ in layers)

    def _add_pieces(self, guards: GuardList) -> List[int]:
        numbers: List[int] = []
        for piece in guards.pieces:
            if isinstance(piece, GuardRecord):
                numbers.append(self._number(piece, False))
                continue
            key = (piece.form, piece.shown)
            known = self._layers.get(key)
            if known is None:
                known = self._layers[key] = (piece, self._count)
                self.rows.append((self._form_number(piece.form), piece.shown))
                self._count += len(piece.form.records)
            numbers += range(known[1], known[1] + len(piece.form.records))
        return numbers

    def _form_number(self, form: LayerForm) -> int:
        number = self._form_numbers.get(form)
        if number is None:
            number = self._form_numbers[form] = len(self.forms)
            rows = [self._row(one, _flags(one, False)) for one in form.records]
            self.forms.append([(condition.replace(LAYER, MARK), *rest) for condition, *rest in rows])  # type: ignore[misc]
        return number

    def _spread(self) -> None:
        """Write the guards of layers one by one: other versions may have them, too."""
        if not self._layers:
            return
        rows, self.rows, self.forms = self.rows, [], []
        layers = iter(self._layers.values())
        for row in rows:
            if len(row) == 4:
                self.rows.append(row)
                continue
            for guard in next(layers)[0].records:
                self._numbers[_key(guard, _flags(guard, False))] = len(self.rows)
                self.rows.append(self._row(guard, _flags(guard, False)))
        self._layers, self._form_numbers = {}, {}

    def _number(self, guard: GuardRecord, is_apart: bool) -> int:
        flags = _flags(guard, is_apart)
        key = _key(guard, flags)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._count
            self._count += 1
            self.rows.append(self._row(guard, flags))
        return number

    def _row(self, guard: GuardRecord, flags: int) -> _GuardRow:
        place = guard.location
        if id(place) not in self._shown:
            self._shown[id(place)] = self._places.of(place)
        return guard.test.text, guard.kind, self._shown[id(place)], flags


def _key(guard: GuardRecord, flags: int) -> Tuple[str, str, int, Optional[str], int]:
    place = guard.location
    file, line = (None, 0) if place is None else (place.file, place.line)
    return guard.test.text, guard.kind, flags, file, line


def _flags(guard: GuardRecord, is_apart: bool) -> int:
    is_python = guard.test.is_python
    return _PYTHON * is_python | _OF_TORCH * guard.from_torch | _OF_SIZES * guard.of_sizes | _APART * is_apart
