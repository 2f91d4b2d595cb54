"""Constants that are too deep or too large to be followed: tuples inside tuples, the same ones again and again.

Hashing, comparing and printing a constant walk all of it, in C without a check of the depth, and as often as it is
referred to. No compiler makes such constants.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed

DEEPEST = 200  # the parser accepts 200 nested parentheses
LARGEST = 1_000_000  # elements, those of shared tuples counted as often as they are referred to
_COLLECTIONS = (tuple, frozenset, slice)


def check_constants(constants: Sequence[Any]) -> None:
    """Raise Malformed if a constant is too deep or too large."""
    if not any(isinstance(constant, _COLLECTIONS) for constant in constants):
        return
    known: Dict[int, Tuple[int, int]] = {}  # id of a collection -> (depth, size)
    work: List[Any] = [constant for constant in constants if isinstance(constant, _COLLECTIONS)]
    opened: Dict[int, bool] = {}
    while work:
        current = work[-1]
        items = (current.start, current.stop, current.step) if isinstance(current, slice) else current
        inner = [item for item in items if isinstance(item, _COLLECTIONS)] if id(current) not in known else []
        missing = [item for item in inner if id(item) not in known]
        if missing and id(current) not in opened:
            opened[id(current)] = True
            work.extend(missing)
            continue
        work.pop()
        if id(current) not in known:
            depth = 1 + max([known[id(item)][0] for item in inner], default=0)
            size = len(items) + sum([known[id(item)][1] for item in inner])
            if depth > DEEPEST or size > LARGEST:
                raise Malformed("a constant is nested too deeply, or too large")
            known[id(current)] = (depth, size)
