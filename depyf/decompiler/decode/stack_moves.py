"""Moves of stack entries as compilers before 3.11 write them -> the SWAP and COPY that 3.11 has in their place.

ROT_TWO, ROT_THREE, ROT_FOUR and ROT_N are ROTATE here: the top entry moves below others.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from depyf.decompiler.bytecode.microops import PLAIN, Op

_Shape = Tuple[str, Any]
_EXIT_CALL = (3, None, PLAIN)
# Sequences of ops, and those that do the same: of comparisons in a chain, of assignments to three targets, of the call
# of an exit method where a `with` statement is left.
_SAME: Dict[Tuple[_Shape, ...], Tuple[_Shape, ...]] = {
    (("COPY", 1), ("ROTATE", 3)): (("SWAP", 2), ("COPY", 2)),
    (("ROTATE", 3), ("ROTATE", 2)): (("SWAP", 3), ("", None)),
    (("CONST", None), ("COPY", 1), ("COPY", 1), ("CALL", _EXIT_CALL)):
        (("CONST", None), ("CONST", None), ("CONST", None), ("CALL", _EXIT_CALL)),
}  # fmt: skip
_LENGTHS = {kinds[0][0]: len(kinds) for kinds in _SAME}


def fold_stack_moves(ops: List[Op], gone: str) -> None:
    """Replace the sequences in `_SAME` that no jump leads into; give an op that is not needed the kind `gone`."""
    targets = None
    for index, op in enumerate(ops):
        length = _LENGTHS.get(op.kind)
        if length is None or (op.kind == "CONST" and op.arg is not None):
            continue
        found = ops[index : index + length]
        shapes = _SAME.get(tuple([(one.kind, one.arg) for one in found])) if _is_hashable(found) else None
        if shapes is None:
            continue
        if targets is None:
            targets = {one.target for one in ops}
        if targets.isdisjoint(range(index + 1, index + length)):
            for one, (kind, arg) in zip(found, shapes):
                one.kind, one.arg = kind or gone, arg


def _is_hashable(ops: List[Op]) -> bool:
    return all(op.kind != "CONST" or op.arg is None for op in ops)


def rotation(count: int, offset: int) -> List[Op]:
    """Return the ops that move the top entry below others, `count` with itself."""
    return [Op("SWAP", place, offset) for place in range(count, 1, -1)]


def with_swaps(ops: List[Op]) -> List[Op]:
    """Return the ops with SWAPs in the place of ROTATE."""
    if all(op.kind != "ROTATE" for op in ops):
        return ops
    new: List[Op] = []
    places: List[int] = []
    for op in ops:
        places.append(len(new))
        new.extend(rotation(op.arg, op.offset) if op.kind == "ROTATE" else [op])
    places.append(len(new))
    for op in new:
        if op.target >= 0:
            op.target = places[op.target]
    return new


def rest_of_mapping(count: int, offset: int) -> List[Op]:
    """Return the ops that replace subject and keys by a dict of all but those keys, as 3.11 has them."""
    ops = [Op("BUILD_MAP", 0, offset), Op("SWAP", 3, offset), Op("DICT_UPDATE", 2, offset), Op("UNPACK", count, offset)]
    for left in range(count, 0, -1):
        ops += [Op("COPY", 1 + left, offset), Op("SWAP", 2, offset), Op("DELETE_SUBSCR", None, offset)]
    return ops
