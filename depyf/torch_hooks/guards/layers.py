"""Guards on the layers of a model: those of a layer like one that was read before are not read again.

Most guards of a model are on the parts of its layers, and torch prints them alike for each, with the layer's own
number.  Guards in a row on parts of one layer are compared as one text, in which a mark stands for the layer; where
that text was seen before, what its guards test is known, and the layer's name is put in.
"""

from __future__ import annotations

import functools
import re
from itertools import chain
from typing import Iterator, NamedTuple, Sequence

from depyf.record.guard_list import LAYER, LayerForm
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import Form, moved_to, shown_source
from depyf.torch_hooks.guards.origins import Origin
from depyf.torch_hooks.guards.tree_leaves import Row
from depyf.torch_hooks.internals.torch_text import scrub

_LAYER = "\0"  # stands for the layer
# A part with a number: of a list of modules, or an item of another list. More digits may be the id of an object.
_NUMBERED = re.compile(r"L\['.*?(?:\._modules\['\d{1,5}'\]|\[\d{1,5}\])")
_NEXT_NUMBERED = re.compile(r".*?(?:\._modules\['\d{1,5}'\]|\[\d{1,5}\])")


class Piece(NamedTuple):
    """One guard on a part of a layer."""

    kind: str
    source: str
    shown: str  # the value, as the user spells it
    form: Form
    origin: Origin


def layers_of(rows: Sequence[Row], inside: int) -> Iterator[tuple[str, list[Row]]]:
    """Yield the guards with the layer that they are on a part of; those on none under an empty name.

    `inside`: the characters of their values that are known to be a layer; those inside it are meant.
    """
    layer = ""
    group: list[Row] = []
    for row in rows:
        source = row[2]
        if layer and source.startswith(layer):
            group.append(row)
            continue
        found = (_NEXT_NUMBERED.match(source, inside) if inside else _NUMBERED.match(source)) if "[" in source else None
        name = source[: found.end()] if found is not None else ""
        if group and (layer or name):
            yield layer, group
            group = []
        layer = name
        group.append(row)
    if group:
        yield layer, group


def form_of_layer(layer: str, rows: Sequence[Row]) -> str:
    """Return what torch prints for the guards of a layer, without the layer's own name."""
    return "\n".join(chain.from_iterable(rows)).replace(layer, _LAYER)


class KnownLayer:
    """What torch prints for a layer, and once one has been read, the guards of all that are like it."""

    def __init__(self) -> None:
        self._shown = ""  # of the one that was read, as the user spells it
        self._source = ""  # as torch does
        self._pieces: Sequence[Piece] = ()  # none where such layers have to be read one by one

    def add(self, layer: str, rows: Sequence[Row], pieces: Sequence[Piece] | None) -> None:
        """Keep the guards of the first layer that was read."""
        shown = shown_source(layer)
        if self._pieces or not pieces or not shown or not all(piece.shown.startswith(shown) for piece in pieces):
            return
        if all(row[1].count(layer) == 1 and layer not in row[3] and LAYER not in row[1] for row in rows):
            self._shown, self._source, self._pieces = shown, layer, pieces

    @functools.cached_property
    def _form(self) -> LayerForm | None:
        expression = expression_of(self._source)
        records: list[GuardRecord] = []
        for piece in self._pieces:
            whole = expression_of(piece.source)
            if not whole.startswith(expression):
                return None
            part, of_torch = LAYER + piece.shown[len(self._shown) :], LAYER + whole[len(expression) :]
            records += [
                GuardRecord(moved_to(part, test), of_torch, piece.kind, *piece.origin) for test in piece.form.tests
            ]
        return LayerForm(records) if all(LAYER in record.test.text for record in records) else None

    @property
    def form(self) -> LayerForm | None:
        """Return the guards of all such layers; None while none was read, and where they have to be read one by one."""
        return self._form if self._pieces else None

    def pieces_of(self, layer: str, shown: str) -> list[Piece]:
        """Return the guards of another layer as pieces of what it is part of."""
        at, shown_at = len(self._source), len(self._shown)
        return [
            Piece(kind, layer + source[at:], shown + value[shown_at:], form, origin)
            for kind, source, value, form, origin in self._pieces
        ]


@functools.lru_cache(maxsize=64)
def known_layer(printed: str, file: str) -> KnownLayer:
    """Return what is known of layers for which torch prints this, where they are asked for by a frame in `file`."""
    return KnownLayer()


@functools.lru_cache(maxsize=4096)
def expression_of(source: str) -> str:
    """Return the value as torch spells it, without the ids that the names of Dynamo's globals hold."""
    return scrub(source)
