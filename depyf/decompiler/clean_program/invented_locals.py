"""Invented locals: remove from the program the locals that a code generator invented and never reads again.

Dynamo stores the functions it calls in temporaries and deletes them afterwards. A local that is written and
deleted but never read is noise to a reader. (That its value is then released earlier is an assumption that
the proof states.)
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, compress
from typing import Collection, List, Sequence

from depyf.decompiler.bytecode.microops import ENDS, JUMPS, Handler, Op, Program, parameters

_SETS = frozenset({"STORE_LOCAL", "DELETE_LOCAL"})
_SILENT = frozenset({"CONST", "SWAP", "COPY", "POP", "BUILD_LIST", "BUILD_TUPLE", "LOAD_LOCAL", "JUMP", "PUSH_NULL"})


def read_through_aliases(program: Program, invented: Collection[str]) -> Program:
    """Return the program with `tmp`, after `tmp = x`, read as `x`, for invented tmp and a parameter never rebound."""
    ops = program.ops
    given = {*parameters(program.code)}
    if not any(_may_be_alias(ops, index, given) for index, op in enumerate(ops) if op.kind == "STORE_LOCAL"):
        return program
    changing = ("STORE_LOCAL", "DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR")
    changed = Counter(op.arg for op in ops if op.kind in changing)
    stores = Counter(op.arg for op in ops if op.kind == "STORE_LOCAL" and op.arg in invented)
    constant = {name for name in given if not changed[name]}
    targets = {op.target for op in ops if op.target >= 0}
    aliases = {}
    for index, op in enumerate(ops):
        if op.kind != "STORE_LOCAL" or stores[op.arg] != 1 or index in targets or not index:
            continue
        load = index - 1
        if ops[load].kind == "COPY" and ops[load].arg == 1 and load not in targets:
            load -= 1
        if ops[load].kind == "LOAD_LOCAL" and ops[load].arg in constant:
            aliases[op.arg] = ops[load].arg
    if not aliases:
        return program
    new = [
        Op(op.kind, aliases[op.arg], op.offset, op.target, op.handler)
        if op.kind == "LOAD_LOCAL" and op.arg in aliases
        else op
        for op in ops
    ]
    return Program(tuple(new), program.handlers, program.code, program.version)


def _may_be_alias(ops: Sequence[Op], index: int, given: Collection[str]) -> bool:
    """Return whether a store may be that of `tmp = x`, x a parameter."""
    load = ops[index - 1]
    if load.kind == "COPY" and load.arg == 1:
        load = ops[index - 2]
    return load.kind == "LOAD_LOCAL" and load.arg in given


def drop_clears_of_unbound(program: Program) -> Program:
    """Return the program without `PUSH_NULL; STORE_LOCAL x` at its beginning, where x has no value anyway.

    A resume function of Dynamo begins so if the user's local had no value where the graph broke.
    """
    ops = program.ops
    nulls = [index for index, op in enumerate(ops) if op.kind == "PUSH_NULL"]
    if not any(ops[index + 1].kind == "STORE_LOCAL" for index in nulls if index + 1 < len(ops)):
        return program
    bound = set(parameters(program.code))
    gone: List[int] = []
    for index, op in enumerate(ops):
        if op.kind in JUMPS or op.kind in ENDS:
            break
        if op.kind == "STORE_LOCAL":
            if index and ops[index - 1].kind == "PUSH_NULL" and op.arg not in bound:
                gone += [index - 1, index]
            bound.add(op.arg)
    if not gone or any(0 <= op.target <= gone[-1] for op in ops):
        return program
    return without(program, gone)


def drop_final_deletes(program: Program, invented: Collection[str]) -> Program:
    """Return the program without deletes of invented locals right before the return: the frame ends anyway."""
    ops = program.ops
    gone = set()
    for end in [index for index, op in enumerate(ops) if op.kind == "RETURN"]:
        for index in range(end - 1, -1, -1):
            op = ops[index]
            if op.kind == "DELETE_LOCAL":
                if op.arg in invented:
                    gone.add(index)
            elif op.kind not in _SILENT or op.target >= 0:
                break
    return without(program, gone) if gone else program


def store_before_deletes(program: Program, invented: Collection[str]) -> Program:
    """Return the program with `x = value; del a` for `del a; x = value`, a invented: the value needs no name then."""
    ops = list(program.ops)
    stores = [index for index, op in enumerate(ops) if op.kind == "STORE_LOCAL"]
    if not any(ops[index - 1].kind == "DELETE_LOCAL" for index in stores):
        return program
    targets = {op.target for op in ops if op.target >= 0} | {handler.target for handler in program.handlers}
    changed = False
    for index in range(1, len(ops)):
        if ops[index].kind != "STORE_LOCAL":
            continue
        start = index
        while (
            start > 0
            and ops[start - 1].kind == "DELETE_LOCAL"
            and ops[start - 1].arg in invented
            and ops[start - 1].arg != ops[index].arg
            and start not in targets
        ):
            start -= 1
        if start < index:
            ops.insert(start, ops.pop(index))
            changed = True
    return Program(tuple(ops), program.handlers, program.code, program.version) if changed else program


def without(program: Program, gone: Collection[int]) -> Program:
    """Return the program without some of its ops, none of which jumps."""
    stays = [1] * len(program.ops)
    for index in gone:
        stays[index] = 0
    kept = [*compress(program.ops, stays)]
    new_index = [0, *accumulate(stays)]  # of each op, or of the next one that is kept
    for index in [index for index, op in enumerate(kept) if op.target >= 0]:
        op = kept[index]
        kept[index] = Op(op.kind, op.arg, op.offset, new_index[op.target], op.handler)
    handlers = tuple([Handler(new_index[h.target], h.depth, h.lasti) for h in program.handlers])
    return Program(tuple(kept), handlers, program.code, program.version)


def drop_unread_locals(program: Program, invented: Collection[str]) -> Program:
    """Return the program without the stores and deletes of invented locals that are never read."""
    read = {op.arg for op in program.ops if op.kind in ("LOAD_LOCAL", "LOAD_LOCAL_AND_CLEAR", "LOAD_CLOSURE")}
    unread = set(invented) - read
    if not unread:
        return program
    ops = list(program.ops)
    targets = {op.target for op in ops if op.target >= 0} | {handler.target for handler in program.handlers}
    gone: List[int] = []
    for index in [index for index, op in enumerate(ops) if op.kind in _SETS and op.arg in unread]:
        op = ops[index]
        if op.kind == "DELETE_LOCAL":
            gone.append(index)
        elif index and index not in targets and ops[index - 1].kind == "COPY" and ops[index - 1].arg == 1:
            gone += [index - 1, index]
        else:
            ops[index] = Op("POP", None, op.offset, -1, op.handler)
    return without(Program(tuple(ops), program.handlers, program.code, program.version), gone)
