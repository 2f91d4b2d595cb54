"""Single guards as torch prints them: what each tests, and who asked for it.

Versions share most of their guards, and each is read once; `condition_cache` reads those that differ only in the value
that they test once for all.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from depyf.record.guard_conditions import GuardTest, PythonTest
from depyf.record.records import GuardRecord
from depyf.torch_hooks.guards.condition_cache import (
    Form,
    depends_on_modules,
    form_of,
    form_with_own_value,
    shown_source,
    tests_of,
    without_marks,
)
from depyf.torch_hooks.guards.guard_kinds import Leaf
from depyf.torch_hooks.guards.layers import Piece, expression_of
from depyf.torch_hooks.guards.origins import Origin, end_of_condition, origins_in, split_range
from depyf.torch_hooks.guards.tree_leaves import Row

# Guards that torch hangs on the first of the values they relate.
ON_SEVERAL_VALUES = ("NO_TENSOR_ALIASING", "OBJECT_ALIASING", "STORAGE_OVERLAPPING", "SYMBOLIC_SHAPE_GUARD")


class ReadGuard(NamedTuple):
    """One printed guard."""

    piece: Piece | None  # where it may be one on a part of a layer
    records: tuple[GuardRecord, ...]


def read_row(guard: Row, marks: tuple[str, ...], file: str) -> ReadGuard:
    """Read one guard of a frame in `file`; with `marks`, that these are absent from the dimensions of a tensor."""
    kind, printed, _, type_name = guard
    return _read(guard, marks, file) if depends_on_modules(kind, printed, type_name) else _read_once(guard, marks, file)


def _read(guard: Row, marks: tuple[str, ...], file: str) -> ReadGuard:
    kind, printed, source, type_name = guard
    shown = _plainly_shown(source) if kind not in ON_SEVERAL_VALUES else ""
    before, found, after = printed.partition(source) if shown and not marks else ("", "", "")
    known = _form(guard, before, after, file) if found else None
    expression = expression_of(source)
    if known is not None:
        form, origin = known
        records = tuple([GuardRecord(test, expression, kind, *origin) for test in form.about(shown)])
        return ReadGuard(Piece(kind, source, shown, form, origin), records)
    cut = end_of_condition(printed)
    origins = origins_in(printed[cut:], file)
    tests = tests_of(Leaf(kind, "" if marks else printed[:cut].strip(), source, type_name, marks))
    asked = [(test, origins[0]) for test in tests] if len(origins) == 1 else _with_origins(tests, origins)
    is_of_layer = marks and shown and len(origins) == 1
    piece = Piece(kind, source, shown, without_marks(marks), origins[0]) if is_of_layer else None
    return ReadGuard(piece, tuple([GuardRecord(test, expression, kind, *origin) for test, origin in asked]))


_read_once = functools.lru_cache(maxsize=2048)(_read)


def _form(guard: Row, before: str, after: str, file: str) -> tuple[Form, Origin] | None:
    own = form_with_own_value(guard, after) if not before else None
    if own is not None:
        return _with_origin(own, file)
    return _shared_form(guard[0], guard[2] in after, before, after, guard[3], file)


@functools.lru_cache(maxsize=1024)
def _shared_form(
    kind: str, is_again: bool, before: str, after: str, type_name: str, file: str
) -> tuple[Form, Origin] | None:
    """Return what guards test that torch prints alike for many values, and who asked for them."""
    form = None if is_again else form_of(kind, type_name, before, after)
    return None if form is None else _with_origin(form, file)


def _with_origin(form: Form, file: str) -> tuple[Form, Origin] | None:
    origins = origins_in(form.comment, file)
    return (form, origins[0]) if len(origins) == 1 else None


def _plainly_shown(source: str) -> str:
    """Return a value as the user spells it, if only the texts around it decide where the condition ends; else empty."""
    return "" if '"' in source or "#" in source else shown_source(source)


def _with_origins(tests: tuple[GuardTest, ...], origins: tuple[Origin, ...]) -> list[tuple[GuardTest, Origin]]:
    """Return each test with its origin; a range whose bounds have different origins becomes two tests."""
    found: list[tuple[GuardTest, Origin]] = []
    for test in tests:
        if isinstance(test, PythonTest):
            found += [(PythonTest(bound.condition), bound.origin) for bound in split_range(test.text, origins)]
        else:
            found.append((test, origins[-1]))
    return found
