"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text, or the function that would print it.
  This is the better moment: it does not depend on the cache entry, which may be gone (with its module) when the
  session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before the session.

Torch keeps no structured form of a guard, so both ways end in printed lines; `guard_rows` reads one of them.
`tree_leaves` finds them, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Iterator, Sequence, Tuple

from depyf.record.guard_list import LayerGuards, distinct
from depyf.record.guard_list import Piece as Listed
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import shown_source
from depyf.torch_hooks.guards.guard_kinds import METADATA_GUARD
from depyf.torch_hooks.guards.guard_rows import ON_SEVERAL_VALUES, read_row
from depyf.torch_hooks.guards.layers import KnownLayer, Piece, expression_of, form_of_layer, known_layer, layers_of
from depyf.torch_hooks.guards.origins import end_of_condition
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.guards.tree_leaves import Row, printed_guards
from depyf.torch_hooks.guards.type_ids import with_types

_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")

_Order = Tuple[int, int, str]


def describe_guards(guard_manager: object, code: CodeType) -> Sequence[GuardRecord]:
    """Return the guards of one version of `code`, in reading order.

    `guard_manager` is as `printed_guards` takes it.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    return describe_guards_of(guard_manager, code.co_filename, code.co_varnames + code.co_freevars + code.co_cellvars)


def describe_guards_of(guard_manager: object, file: str, names: tuple[str, ...]) -> Sequence[GuardRecord]:
    """Return the guards of one version of a function in `file` whose variables have these names, in their order."""
    reader = _Reader(file, names)
    reader.read(with_types(printed_guards(guard_manager)))
    return reader.in_order()


class _Reader:
    """Reads the guards of one version: those that torch prints alike for many layers are read once."""

    def __init__(self, file: str, names: tuple[str, ...]) -> None:
        self._file = file
        self._names = names
        self._records: dict[_Order, list[Listed]] = {}  # in the order in which torch prints them
        self._orders: dict[str, _Order] = {}  # local variable, as torch spells it -> where its guards stand
        self._layers: dict[str, KnownLayer] = {}  # what torch prints for a layer -> how to make its guards
        self._places: dict[str, tuple[str, _Order, int, int]] = {}  # ... -> the layer read first, where its guards are
        self._repeated: dict[str, None] = {}  # what torch prints for several layers, in order

    def read(self, rows: Sequence[Row], inside: int = 0) -> list[Piece] | None:
        """Add guards in torch's order; `inside`: the part of their values that is known to be a layer.

        Returns them as pieces of that layer, if that is what all of them are.
        """
        pieces: list[Piece] | None = [] if inside else None
        for layer, group in layers_of(rows, inside):
            found = self._read_layer(layer, group, inside > 0) if layer else self._read_each(group)
            pieces = None if pieces is None or found is None else pieces + found
        return pieces

    def _read_layer(self, layer: str, rows: Sequence[Row], is_inside: bool) -> list[Piece] | None:
        """Add the guards on the parts of a layer: those of the next ones that are like it need not be read again."""
        printed = form_of_layer(layer, rows)
        known = self._layers.get(printed)
        if known is None:
            known = self._layers[printed] = known_layer(printed, self._file)
        order = self._order_of(layer, "", "")
        records = self._records.setdefault(order, [])
        form = known.form
        shown = shown_source(layer) if form is not None else ""
        if form is None or not shown:
            start = len(records)
            pieces = self.read(rows, len(layer))
            known.add(layer, rows, pieces)
            self._places[printed] = (layer, order, start, len(records))
            return pieces
        found = form.of_layer(shown, expression_of(layer))
        if form.fits(shown):
            records.append(found)
            self._repeated[printed] = None
        else:
            records += found.records
        return known.pieces_of(layer, shown) if is_inside else None

    def _read_each(self, rows: Sequence[Row]) -> list[Piece] | None:
        pieces: list[Piece | None] = []
        for guard, marks in _merged(rows):
            piece, records = read_row(guard, marks, self._file)
            self._records.setdefault(self._order_of(guard[2], guard[0], guard[1]), []).extend(records)
            pieces.append(piece)
        found = [piece for piece in pieces if piece is not None]
        return found if len(found) == len(pieces) else None

    def in_order(self) -> Sequence[GuardRecord]:
        """Return the records in reading order, each condition once."""
        for order, first, end, guards in sorted(self._first_layers(), key=lambda one: one[1], reverse=True):
            self._records[order][first:end] = [guards]
        return distinct([piece for order in sorted(self._records) for piece in self._records[order]])

    def _first_layers(self) -> Iterator[tuple[_Order, int, int, LayerGuards]]:
        """Yield where the layers are that others are like, and what can stand there in place of their guards."""
        ends: dict[_Order, int] = {}
        places = [(printed, *self._places[printed]) for printed in self._repeated if printed in self._places]
        for printed, layer, order, first, end in sorted(places, key=lambda one: (one[3], -one[4])):
            form, shown = self._layers[printed].form, shown_source(layer)
            if form is not None and form.fits(shown) and first >= ends.get(order, 0):
                ends[order] = end
                yield order, first, end, form.of_layer(shown, expression_of(layer))

    def _order_of(self, source: str, kind: str, text: str) -> _Order:
        """Return where a guard stands: by parameter, globals, conditions on several values, then torch's own state."""
        if kind in ON_SEVERAL_VALUES:
            return (2, 0, "")
        end = source.find("'", 3) if source.startswith("L['") else -1
        if source.startswith("']", end):
            name = source[3:end]
            found = self._orders.get(name)
            if found is None:
                found = self._orders[name] = self._order_of_local(name)
            return found
        scope, name = _root(source)
        if scope == "L":
            return self._order_of_local(name)
        if scope:
            return (1, 0, readable(source))
        if kind == "LAMBDA_GUARD" and A_SOURCE.search(text, 0, end_of_condition(text)):
            return (2, 1, "")
        return (3, 0, "")

    def _order_of_local(self, name: str) -> _Order:
        return (0, self._names.index(name) if name in self._names else len(self._names), "")


def _merged(guards: Sequence[Row]) -> Iterator[tuple[Row, tuple[str, ...]]]:
    """Yield guards, each with the marks of dimensions that it excludes; those on one tensor in a row are one guard."""
    waiting: Row | None = None  # excludes a mark: guards on more of them may follow
    marks: list[str] = []
    for guard in guards:
        _, printed, source, type_name = guard
        mark = _ABSENT_MARK.match(printed) if "_dynamo_" in printed else None
        if mark is not None and waiting is not None and waiting[2] == source:
            marks.append(mark["mark"])
            continue
        if waiting is not None:
            yield waiting, tuple(marks)
        waiting, marks = (None, []) if mark is None else (guard, [mark["mark"]])
        if printed.startswith("___check_metadata_"):  # a lambda to the tree, a kind of its own to torch
            yield (METADATA_GUARD, printed, source, type_name), ()
        elif mark is None:
            yield guard, ()
    if waiting is not None:
        yield waiting, tuple(marks)


@functools.lru_cache(maxsize=4096)
def _root(source: str) -> tuple[str, str]:
    """Return whether a source begins in the locals (L) or globals (G), and with which name; empty where neither."""
    root = _ROOT.match(source)
    return ("", "") if root is None else (root.group(1), root.group(2) or root.group(3) or "")
