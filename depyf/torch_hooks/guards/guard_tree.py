"""The guards of one compiled version, as records that a person can read.

When to call this.  The bytecode hook runs before Dynamo builds the guards, so they cannot be described there.
There are two later moments, and `describe_guards` serves both with the same result:

- Dynamo emits the structured trace event `dynamo_cpp_guards_str` once the guards are built, with the compile
  id of the version and the printed guard tree as payload.  Pass that text, or the function that would print it.
  This is the better moment: it does not depend on the cache entry, which may be gone (with its module) when the
  session ends.
- `torch._dynamo.eval_frame._debug_get_cache_entry_list(code)` lists the entries that live now; pass the
  `guard_manager` of one.  This also works for what was compiled before the session.

Torch keeps no structured form of a guard, so both ways end in printed lines; `guard_kinds` reads one of them.
`tree_leaves` finds them, and nothing here imports torch.
"""

from __future__ import annotations

import functools
import re
from types import CodeType
from typing import Iterator, Sequence, Tuple

from depyf.record.guard_conditions import GuardTest, PythonTest
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import (
    Form,
    depends_on_modules,
    form_of,
    shown_source,
    tests_of,
    without_marks,
)
from depyf.torch_hooks.guards.guard_kinds import METADATA_GUARD, Leaf
from depyf.torch_hooks.guards.layers import Layer, Piece, expression_of, form_of_layer, layer_from, layers_of
from depyf.torch_hooks.guards.origins import Origin, end_of_condition, origins_in, split_range
from depyf.torch_hooks.guards.source_names import A_SOURCE, readable
from depyf.torch_hooks.guards.tree_leaves import PrintedGuard, Row, printed_guards
from depyf.torch_hooks.guards.type_ids import with_types

_ABSENT_MARK = re.compile(r"hasattr\([^ ]*, '_dynamo_(?P<mark>\w+)_indices'\) == False *(?:#|$)")
_ROOT = re.compile(r"[^'\"]*?\b([LG])\[(?:'([^']*)'|\"([^\"]*)\")\]")

_Order = Tuple[int, int, str]

# Guards that torch hangs on the first of the values they relate.
_ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")


def describe_guards(guard_manager: object, code: CodeType) -> tuple[GuardRecord, ...]:
    """Return the guards of one version of `code`, in reading order.

    `guard_manager` is as `printed_guards` takes it.  The order is that of the
    parameters, then globals, then conditions on several values, then the state of torch itself; it does not
    depend on which guards failed how often (torch moves those to the front).  Text in an unknown form yields
    what of it could be read.
    """
    return describe_guards_of(guard_manager, code.co_filename, code.co_varnames + code.co_freevars + code.co_cellvars)


def describe_guards_of(guard_manager: object, file: str, names: tuple[str, ...]) -> tuple[GuardRecord, ...]:
    """Return the guards of one version of a function in `file` whose variables have these names, in their order."""
    reader = _Reader(file, names)
    reader.read(with_types(printed_guards(guard_manager)))
    return reader.in_order()


class _Reader:
    """Reads the guards of one version: those that torch prints alike for many values are read once."""

    def __init__(self, file: str, names: tuple[str, ...]) -> None:
        self._file = file
        self._names = names
        self._records: dict[_Order, list[GuardRecord]] = {}  # in the order in which torch prints them
        # kind, text before and after the value, type -> what such guards test, and who asked for them
        self._forms: dict[tuple[str, str, str, str], tuple[Form, Origin] | None] = {}
        self._orders: dict[str, _Order] = {}  # local variable, as torch spells it -> where its guards stand
        self._layers: dict[str, Layer | None] = {}  # what torch prints for a layer -> how to make its guards

    def read(self, rows: Sequence[Row], inside: int = 0) -> list[Piece] | None:
        """Add guards in torch's order; `inside`: the part of their values that is known to be a layer.

        Returns them as pieces of a layer, if that is what all of them are.
        """
        pieces: list[Piece] | None = []
        for layer, group in layers_of(rows, inside):
            found = self._read_layer(layer, group) if layer else self._read_each(group)
            pieces = None if pieces is None or found is None else pieces + found
        return pieces

    def _read_layer(self, layer: str, rows: Sequence[Row]) -> list[Piece] | None:
        """Add the guards on the parts of a layer: those of the next ones that are like it need not be read again."""
        form = form_of_layer(layer, rows)
        like_it = self._layers.get(form)
        shown = shown_source(layer) if like_it is not None else ""
        if like_it is None or not shown:
            pieces = self.read(rows, len(layer))
            if form not in self._layers:
                self._layers[form] = layer_from(layer, rows, pieces)
            return pieces
        records = self._records.setdefault(self._order_of(layer, "", ""), [])
        records += like_it.guards_of(shown, expression_of(layer))
        return None

    def _read_each(self, rows: Sequence[Row]) -> list[Piece] | None:
        pieces: list[Piece] | None = []
        for guard, marks in _merged(rows):
            piece = self._add(guard, marks)
            if piece is None:
                pieces = None
            elif pieces is not None:
                pieces.append(piece)
        return pieces

    def _add(self, guard: Row, marks: tuple[str, ...]) -> Piece | None:
        """Add one guard; with `marks`, that these are absent from the dimensions of a tensor."""
        kind, printed, source, type_name = guard
        shown = _plainly_shown(source)
        before, found, after = printed.partition(source) if shown and not marks else ("", "", "")
        form = self._form(guard, before, after) if found else None
        if form is not None:
            expression = expression_of(source)
            records = [GuardRecord(test, expression, kind, *form[1]) for test in form[0].about(shown)]
            self._records.setdefault(self._order_of(source, kind, printed), []).extend(records)
            return Piece(kind, source, shown, *form)
        read = _read if depends_on_modules(kind, printed, type_name) else _read_once
        origins, known = read(guard, marks, self._file)
        self._records.setdefault(self._order_of(source, kind, printed), []).extend(known)
        is_of_layer = marks and shown and len(origins) == 1
        return Piece(kind, source, shown, without_marks(marks), origins[0]) if is_of_layer else None

    def in_order(self) -> tuple[GuardRecord, ...]:
        """Return the records in reading order, each condition once."""
        first: dict[str, GuardRecord] = {}
        for order in sorted(self._records):
            for record in self._records[order]:
                first.setdefault(record.test.text, record)
        return tuple(first.values())

    def _form(self, guard: Row, before: str, after: str) -> tuple[Form, Origin] | None:
        key = (guard[0], before, after, guard[3])
        if key not in self._forms:
            form = form_of(PrintedGuard._make(guard), before, after)
            origins = () if form is None else origins_in(form.comment, self._file)
            self._forms[key] = (form, origins[0]) if form is not None and len(origins) == 1 else None
        return self._forms[key]

    def _order_of(self, source: str, kind: str, text: str) -> _Order:
        """Return where a guard stands: by parameter, globals, conditions on several values, then torch's own state."""
        if kind in _ON_SEVERAL_VALUES:
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


def _plainly_shown(source: str) -> str:
    """Return a value as the user spells it, if only the texts around it decide where the condition ends; else empty."""
    return "" if '"' in source or "#" in source else shown_source(source)


def _read(guard: Row, marks: tuple[str, ...], file: str) -> tuple[tuple[Origin, ...], tuple[GuardRecord, ...]]:
    """Return who asked for a guard of a frame in `file`, and its records; with `marks`, that these are absent."""
    kind, printed, source, type_name = guard
    cut = end_of_condition(printed)
    origins = origins_in(printed[cut:], file)
    tests = tests_of(Leaf(kind, "" if marks else printed[:cut].strip(), source, type_name, marks))
    asked = [(test, origins[0]) for test in tests] if len(origins) == 1 else _with_origins(tests, origins)
    expression = expression_of(source)
    return origins, tuple([GuardRecord(test, expression, kind, *origin) for test, origin in asked])


_read_once = functools.lru_cache(maxsize=1024)(_read)  # versions share the guards on globals and on torch's state


def _with_origins(tests: tuple[GuardTest, ...], origins: tuple[Origin, ...]) -> list[tuple[GuardTest, Origin]]:
    """Return each test with its origin; a range whose bounds have different origins becomes two tests."""
    found: list[tuple[GuardTest, Origin]] = []
    for test in tests:
        if isinstance(test, PythonTest):
            found += [(PythonTest(bound.condition), bound.origin) for bound in split_range(test.text, origins)]
        else:
            found.append((test, origins[-1]))
    return found


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
