"""The guards of a version, where those of repeated layers stand once.

Most guards of a model are on the parts of its layers, and alike for each but for the layer's name.  They are kept as a
form, which holds the guards with `LAYER` in place of the name, and the names of the layers.  Who needs single guards
gets them: a list is a sequence of records, made when they are first asked for.

In a list that `distinct` returns, no condition is there twice, no layer is part of another one, and no single guard
mentions a layer that has its guards as a form.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union
from weakref import WeakValueDictionary

from depyf.record.guard_conditions import with_subject
from depyf.record.records import GuardRecord, Location
from depyf.text.python_source import is_primary

LAYER = "THE_LAYER"  # stands for the layer in a form: a name, so that what is Python there is Python in each layer
# The name of a layer that can be put in place of it: an item of what plain attributes and items lead to.
_PLAIN_LAYER = re.compile(r"(?P<list>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[(?:0|[1-9]\d*)\])*\[)(?P<number>0|[1-9]\d*)\]")


class LayerForm:
    """The guards on the parts of a layer, each condition once; two forms are never taken for the same one."""

    def __init__(self, records: Iterable[GuardRecord]) -> None:
        first: Dict[str, GuardRecord] = {}
        for record in records:
            first.setdefault(record.test.text, record)
        self.records = tuple(first.values())
        self.text = "\n".join(first)
        self._layers: WeakValueDictionary[Tuple[str, str], LayerGuards] = WeakValueDictionary()

    def fits(self, shown: str) -> bool:
        """Return whether a layer of that name can be put into the form and be found there again."""
        plain = _PLAIN_LAYER.fullmatch(shown)
        return plain is not None and is_primary(shown) and plain["list"] not in self.text

    def of_layer(self, shown: str, expression: str) -> LayerGuards:
        """Return the guards of a layer, given its name as the user and as torch spell it; versions share them."""
        found = self._layers.get((shown, expression))
        if found is None:
            found = self._layers[shown, expression] = LayerGuards(self, shown, expression)
        return found


class LayerGuards:
    """The guards on the parts of one layer."""

    def __init__(self, form: LayerForm, shown: str, expression: str) -> None:
        self.form = form
        self.shown = shown  # the layer, as the user spells it: self.blocks[0]
        self.expression = expression  # the same, as torch does
        self._records: Sequence[GuardRecord] = ()

    @property
    def list_name(self) -> str:
        """What the layer is an item of, with the bracket: `self.blocks[`."""
        return self.shown[: self.shown.rindex("[") + 1]

    @property
    def records(self) -> Sequence[GuardRecord]:
        """The guards one by one."""
        if not self._records:
            shown, expression = self.shown, self.expression
            self._records = [
                GuardRecord(
                    with_subject(one.test, LAYER, shown),
                    one.expression.replace(LAYER, expression),
                    one.kind,
                    one.location,
                    one.from_torch,
                    one.of_sizes,
                )
                for one in self.form.records
            ]
        return self._records


Piece = Union[GuardRecord, LayerGuards]


class GuardList(Sequence[GuardRecord]):
    """Guards in order; compares like a tuple of them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)
        self._records: Optional[Tuple[GuardRecord, ...]] = None

    @property
    def records(self) -> Tuple[GuardRecord, ...]:
        """All guards one by one."""
        if self._records is None:
            self._records = tuple(_one_by_one(self.pieces))
        return self._records

    def __len__(self) -> int:
        return sum([len(piece.form.records) if isinstance(piece, LayerGuards) else 1 for piece in self.pieces])

    def __iter__(self) -> Iterator[GuardRecord]:
        return iter(self.records)

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (GuardList, tuple)):
            return self is other or (len(self) == len(other) and self.records == tuple(other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.records)

    def __repr__(self) -> str:
        return repr(self.records)


def locations_of(guards: Sequence[GuardRecord]) -> List[Location]:
    """Return the lines that asked for guards, each at least once, in order of the first guard of each."""
    if not isinstance(guards, GuardList):
        return [guard.location for guard in guards if guard.location is not None]
    found: List[Location] = []
    passed: Set[LayerForm] = set()
    for piece in guards.pieces:
        if isinstance(piece, LayerGuards):
            if piece.form not in passed:
                passed.add(piece.form)
                found += [one.location for one in piece.form.records if one.location is not None]
        elif piece.location is not None:
            found.append(piece.location)
    return found


def distinct(pieces: Sequence[Piece]) -> Sequence[GuardRecord]:
    """Return the guards with each condition once, the first of those that have it.

    Those of a layer that no other one is like come one by one, whatever other versions have.
    """
    counts = Counter([piece.form for piece in pieces if isinstance(piece, LayerGuards)])
    if 1 in counts.values():
        pieces = [
            one
            for piece in pieces
            for one in (piece.records if isinstance(piece, LayerGuards) and counts[piece.form] == 1 else (piece,))
        ]
    layers = [piece for piece in pieces if isinstance(piece, LayerGuards)]
    if layers and not are_apart(layers, [piece.test.text for piece in pieces if isinstance(piece, GuardRecord)]):
        pieces, layers = list(_one_by_one(pieces)), []
    first: Dict[Any, Piece] = {}
    for piece in pieces:
        first.setdefault(piece.test.text if isinstance(piece, GuardRecord) else id(piece), piece)
    return GuardList(tuple(first.values())) if layers else tuple(first.values())  # type: ignore[arg-type]


def _one_by_one(pieces: Iterable[Piece]) -> Iterator[GuardRecord]:
    for piece in pieces:
        if isinstance(piece, LayerGuards):
            yield from piece.records
        else:
            yield piece


def are_apart(layers: Iterable[LayerGuards], conditions: Sequence[str]) -> bool:
    """Return whether no layer is part of another one, is there twice, or is mentioned by a condition."""
    numbers: Dict[str, Set[str]] = {}
    for layer in layers:
        of_list = numbers.setdefault(layer.list_name, set())
        number = layer.shown[len(layer.list_name) : -1]
        if number in of_list:
            return False
        of_list.add(number)
    names, texts = "\n".join(numbers), "\n".join(conditions)
    return all(
        names.count(name) == 1 and of_list.isdisjoint(_numbers_after(name, texts)) for name, of_list in numbers.items()
    )


def _numbers_after(list_name: str, texts: str) -> Iterator[str]:
    """Yield what stands in the brackets wherever the name of a list comes."""
    start = texts.find(list_name)
    while start >= 0:
        inside = start + len(list_name)
        yield texts[inside : texts.find("]", inside)]
        start = texts.find(list_name, start + 1)
