"""The types behind the ids that guards hold, for a torch whose guards print nothing else of a type (2.8 and older).

A guard on a type is void once that type is gone, so as long as a version can be called its id is that of one type.
"""

from __future__ import annotations

import re
import weakref
from typing import Dict, List, Sequence

from depyf.torch_hooks.guards.tree_leaves import PrintedGuard, Row
from depyf.torch_hooks.internals.torch_text import type_from_repr

_CHECK_TYPE = re.compile(r"___check_type_id\((?P<source>.*), (?P<id>\d+)\)(?!, type=)")
_LITERAL = re.compile(r" == (?:(?P<str>'[^'\\\n]*')|(?P<float>-?\d+\.\d*(?:e[-+]?\d+)?)|(?P<int>-?\d+))(?=\s|$)")

_known: Dict[int, weakref.ref[type]] = {}


def with_types(rows: Sequence[Row]) -> List[Row]:
    """Return the guards, with the types of their values where torch prints an id, or a literal, alone."""
    return [row if row[3] else (*row[:3], _type_of(PrintedGuard._make(row))) for row in rows]


def _type_of(guard: PrintedGuard) -> str:
    if guard.kind == "TYPE_MATCH":
        match = _CHECK_TYPE.match(guard.text)
        return "" if match is None else name_of_type(int(match["id"]))
    if guard.kind == "EQUALS_MATCH" and guard.source:
        before, _, after = guard.text.partition(guard.source)
        match = _LITERAL.match(after) if not before else None
        return "" if match is None else str(match.lastgroup)  # torch compares the type, too
    return ""


def name_of_type(identity: int) -> str:
    """Return the dotted name of the living type with that id; empty where there is none."""
    found = _living(identity)
    if found is None:
        _collect()
        found = _living(identity)
    return "" if found is None else type_from_repr(type.__repr__(found))


def _living(identity: int) -> type | None:
    reference = _known.get(identity)
    return None if reference is None else reference()


def _collect() -> None:
    """Find all types; the overrides of metaclasses are not called."""
    _known.clear()
    waiting: List[type] = [object]
    while waiting:
        kind = waiting.pop()
        if id(kind) not in _known:
            _known[id(kind)] = weakref.ref(kind)
            waiting += type.__subclasses__(kind)
