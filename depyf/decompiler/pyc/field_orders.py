"""The order in which each version of Python writes the fields of a code object (w_complex_object in Python/marshal.c).

A new version is one line in FIELD_ORDERS, and its magic number in `file_header`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from depyf.decompiler.bytecode.python_facts import Version

INTEGER, BYTES, TEXT, NAMES, CONSTANTS = "an integer", "bytes", "text", "a tuple of names", "a tuple"

Field = Tuple[str, str]  # name, and which of the kinds above it is

_COUNTS: Tuple[Field, ...] = (("argcount", INTEGER), ("posonlyargcount", INTEGER), ("kwonlyargcount", INTEGER))
_SIZES: Tuple[Field, ...] = (("stacksize", INTEGER), ("flags", INTEGER))
_BODY: Tuple[Field, ...] = (("code", BYTES), ("consts", CONSTANTS), ("names", NAMES))

_THREE_TUPLES: Tuple[Field, ...] = (
    ("nlocals", INTEGER),
    *_SIZES,
    *_BODY,
    ("varnames", NAMES),
    ("freevars", NAMES),
    ("cellvars", NAMES),
    ("filename", TEXT),
    ("name", TEXT),
    ("firstlineno", INTEGER),
    ("linetable", BYTES),
)
WITHOUT_POSITIONAL_ONLY: Tuple[Field, ...] = (_COUNTS[0], _COUNTS[2], *_THREE_TUPLES)
WITH_THREE_TUPLES: Tuple[Field, ...] = (*_COUNTS, *_THREE_TUPLES)
WITH_KINDS: Tuple[Field, ...] = (
    *_COUNTS,
    *_SIZES,
    *_BODY,
    ("localsplusnames", NAMES),
    ("localspluskinds", BYTES),
    ("filename", TEXT),
    ("name", TEXT),
    ("qualname", TEXT),
    ("firstlineno", INTEGER),
    ("linetable", BYTES),
    ("exceptiontable", BYTES),
)
FIELD_ORDERS: Dict[Version, Tuple[Field, ...]] = {
    (3, 7): WITHOUT_POSITIONAL_ONLY,
    (3, 8): WITH_THREE_TUPLES,
    (3, 9): WITH_THREE_TUPLES,
    (3, 10): WITH_THREE_TUPLES,
    (3, 11): WITH_KINDS,
    (3, 12): WITH_KINDS,
    (3, 13): WITH_KINDS,
    (3, 14): WITH_KINDS,
    (3, 15): WITH_KINDS,
}

# Bits of localspluskinds: Include/internal/pycore_code.h. The others, since 3.14, repeat which kind of parameter it is.
HIDDEN, LOCAL, CELL, FREE = 0x10, 0x20, 0x40, 0x80
PARAMETER = 0x0E
_RANKS = {LOCAL: 0, LOCAL | HIDDEN: 0, LOCAL | CELL: 0, LOCAL | CELL | HIDDEN: 0, CELL: 1, FREE: 2}


def record_fields(fields: Dict[str, Any]) -> Dict[str, Any]:
    """Return the fields as a CodeRecord names them. Raises ValueError, with the reason, if they disagree."""
    found = dict(fields)
    if "localspluskinds" in found:
        found.update(_variables(found.pop("localsplusnames"), found.pop("localspluskinds")))
    elif found.pop("nlocals") != len(found["varnames"]):
        raise ValueError("the number of its local variables is not that of their names")
    found.setdefault("posonlyargcount", 0)
    found.setdefault("qualname", found["name"])
    found.setdefault("exceptiontable", b"")
    return found


def _variables(names: Tuple[str, ...], kinds: bytes) -> Dict[str, Tuple[str, ...]]:
    """Return the variables by their kinds: 3.11 and newer write one tuple of names and a byte for each."""
    if len(names) != len(kinds):
        raise ValueError(f"it has {len(names)} variables and the kinds of {len(kinds)}")
    ranks: List[int] = []
    for name, kind in zip(names, kinds):
        rank = _RANKS.get(kind & ~PARAMETER)
        if rank is None:
            raise ValueError(f"its variable {name!a} has the kind {kind:#x}, which is none")
        ranks.append(rank)
    if ranks != sorted(ranks):
        raise ValueError("its variables are not in the order locals, cells, free variables")
    own = [name for name, kind in zip(names, kinds) if not kind & FREE]
    free = [name for name, kind in zip(names, kinds) if kind & FREE]
    if len(set(own)) != len(own) or len(set(free)) != len(free):  # one may be both: `__class__` in nested classes
        raise ValueError("two of its variables have one name")
    return {
        "varnames": tuple([name for name, kind in zip(names, kinds) if kind & LOCAL]),
        "cellvars": tuple([name for name, kind in zip(names, kinds) if kind & CELL]),
        "freevars": tuple(free),
    }
