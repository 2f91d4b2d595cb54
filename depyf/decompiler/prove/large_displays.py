"""Large dict and set displays: rewrite each as an empty container that is filled one by one.

Python's compiler keeps the stack low: it makes a dict of more than 15 pairs or a set of more than 30 elements empty
and adds the elements one by one; pairs after the first 17 are a dict of their own that updates the first. Dynamo
builds such containers at once. All forms insert in the same order, and nothing can observe the container before it
is complete, so the proof may rewrite every form to the simplest.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, Iterator, List, Sequence, Tuple

from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.analysis.unbound_locals import maybe_unbound
from depyf.decompiler.bytecode.microops import Handler, Op, Program
from depyf.decompiler.bytecode.python_facts import MOST_ELEMENTS_AT_ONCE, MOST_PAIRS_AT_ONCE

_LARGEST = {"BUILD_MAP": MOST_PAIRS_AT_ONCE, "BUILD_SET": MOST_ELEMENTS_AT_ONCE}


def filled_one_by_one(a: Program, b: Program) -> Tuple[Program, Program]:
    """Return both programs with large displays filled one by one; unchanged if neither has any."""
    if op_kinds(a).isdisjoint(_LARGEST) and op_kinds(b).isdisjoint(_LARGEST):
        return a, b
    if not any(_is_large(op) for program in (a, b) for op in program.ops if op.kind in _LARGEST):
        return a, b
    return _rewritten(a), _rewritten(b)


def _is_large(op: Op) -> bool:
    return op.kind in _LARGEST and bool(op.arg > _LARGEST[op.kind])


def _rewritten(program: Program) -> Program:
    instead: Dict[int, List[Op]] = {}  # index of an op -> the ops that replace it
    raising = maybe_unbound(program)
    for index, op in enumerate(program.ops):
        if _is_large(op):
            instead[index] = list(_filled(op))
        elif op.kind == "DICT_UPDATE" and op.arg == 1:
            instead.update(_added(program.ops, index, raising))
    ops: List[Op] = []
    new_index: List[int] = []
    for index, op in enumerate(program.ops):
        new_index.append(len(ops))
        ops.extend(instead.get(index, [Op(op.kind, op.arg, op.offset, op.target, op.handler)]))
    new_index.append(len(ops))
    for op in ops:
        if op.target >= 0:
            op.target = new_index[op.target]
    handlers = tuple([Handler(new_index[h.target], h.depth, h.lasti) for h in program.handlers])
    return Program(tuple(ops), handlers, program.code, program.version)


def _filled(op: Op) -> Iterator[Op]:
    """Replace an op that builds a container at once: make it empty, add each element, drop the entries below."""
    width, add = (2, "MAP_ADD") if op.kind == "BUILD_MAP" else (1, "SET_ADD")
    yield _like(op, op.kind, 0)
    for place in range(op.arg, 0, -1):
        for _ in range(width):
            yield _like(op, "COPY", width * place + 1)
        yield _like(op, add, 1)
    for _ in range(width * op.arg):
        yield _like(op, "SWAP", 2)
        yield _like(op, "POP", None)


def _added(ops: Sequence[Op], update: int, raising: FrozenSet[Tuple[int, str]]) -> Dict[int, List[Op]]:
    """Replace a dict that is made only to update another: add its pairs to the other directly."""
    before, op = ops[update - 1], ops[update]
    if before.kind == "BUILD_MAP" and before.arg == 1:
        return {update - 1: [_like(op, "MAP_ADD", 1)], update: []}
    keys = ops[update - 2]
    if before.kind == "BUILD_CONST_KEY_MAP" and keys.kind == "CONST" and len(keys.arg) == before.arg:
        count = before.arg
        pairs: List[Op] = []
        for place, key in enumerate(keys.arg):
            pairs += [_like(op, "CONST", key), _like(op, "COPY", count - place + 1), _like(op, "MAP_ADD", count + 1)]
        return {update - 2: [], update - 1: [], update: pairs + [_like(op, "POP", None)] * count}
    start = update - 1
    while (
        ops[start].kind == "CONST"
        or (ops[start].kind == "LOAD_LOCAL" and (ops[start].offset, ops[start].arg) not in raising)
        or (ops[start].kind == "MAP_ADD" and ops[start].arg == 1)
    ):
        start -= 1
    if start < update - 1 and ops[start].kind == "BUILD_MAP" and ops[start].arg == 0:
        return {start: [], update: []}  # the ops between them only add pairs
    return {}


def _like(op: Op, kind: str, arg: object) -> Op:
    return Op(kind, arg, op.offset, -1, op.handler)
