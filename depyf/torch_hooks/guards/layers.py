"""Guards on the layers of a model: those of a layer like one that was read before are made from it.

Most guards of a model are on the parts of its layers, and torch prints them alike for each, with the layer's own
number.  Guards in a row on parts of one layer are compared as one text, in which a mark stands for the layer; where
that text was seen before, what its guards test is known, and the layer's name is put in.
"""

from __future__ import annotations

import functools
import re
from typing import Iterator, NamedTuple, Sequence

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


class _Part(NamedTuple):
    """One guard on a part of any layer that is like another one."""

    kind: str
    shown: str  # what follows the layer, as the user spells it
    expression: str  # what follows the layer, as torch does
    form: Form
    origin: Origin


class Layer(NamedTuple):
    """The guards on the parts of a layer."""

    parts: tuple[_Part, ...]

    def guards_of(self, shown: str, expression: str) -> list[GuardRecord]:
        """Return the guards of a layer that is like this one, given as the user and as torch spell it."""
        return [
            GuardRecord(moved_to(shown + part, test), expression + of_torch, kind, *origin)
            for kind, part, of_torch, form, origin in self.parts
            for test in form.tests
        ]


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
    return "\n".join(map("\n".join, rows)).replace(layer, _LAYER)


def layer_from(layer: str, rows: Sequence[Row], pieces: Sequence[Piece] | None) -> Layer | None:
    """Return how the guards of other layers like this one are made; None where they have to be read one by one."""
    shown, expression = shown_source(layer), expression_of(layer)
    if not pieces or not shown or any(row[1].count(layer) != 1 or layer in row[3] for row in rows):
        return None
    parts: list[_Part] = []
    for piece in pieces:
        whole = expression_of(piece.source)
        if not piece.shown.startswith(shown) or not whole.startswith(expression):
            return None
        rest = whole[len(expression) :]
        parts.append(_Part(piece.kind, piece.shown[len(shown) :], rest, piece.form, piece.origin))
    return Layer(tuple(parts))


@functools.lru_cache(maxsize=4096)
def expression_of(source: str) -> str:
    """Return the value as torch spells it, without the ids that the names of Dynamo's globals hold."""
    return scrub(source)
