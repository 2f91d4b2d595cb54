"""Invented locals: remove from the program the locals that a code generator invented and never reads again.

Dynamo stores the functions it calls in temporaries and deletes them afterwards. A local that is written and
deleted but never read is noise to a reader. (That its value is then released earlier is an assumption that
the proof states.)
"""

from __future__ import annotations

from collections import Counter
from typing import Collection, List

from depyf.decompiler.bytecode.microops import ENDS, JUMPS, Handler, Op, Program, parameters

_SILENT = frozenset({"CONST", "SWAP", "COPY", "POP", "BUILD_LIST", "BUILD_TUPLE", "LOAD_LOCAL", "JUMP", "PUSH_NULL"})


def read_through_aliases(program: Program, invented: Collection[str]) -> Program:
    """Return the program with `tmp`, after `tmp = x`, read as `x`, for invented tmp and a parameter never rebound."""
    ops = program.ops
    changing = ("STORE_LOCAL", "DELETE_LOCAL", "LOAD_LOCAL_AND_CLEAR")
    changed = Counter(op.arg for op in ops if op.kind in changing)
    stores = Counter(op.arg for op in ops if op.kind == "STORE_LOCAL" and op.arg in invented)
    constant = {name for name in parameters(program.code) if not changed[name]}
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


def drop_clears_of_unbound(program: Program) -> Program:
    """Return the program without `PUSH_NULL; STORE_LOCAL x` at its beginning, where x has no value anyway.

    A resume function of Dynamo begins so if the user's local had no value where the graph broke.
    """
    ops = program.ops
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
    gone = set()
    is_before_return = False
    for index in range(len(program.ops) - 1, -1, -1):
        op = program.ops[index]
        if op.kind == "RETURN":
            is_before_return = True
        elif op.kind == "DELETE_LOCAL":
            if is_before_return and op.arg in invented:
                gone.add(index)
        elif op.kind not in _SILENT or op.target >= 0:
            is_before_return = False
    return without(program, gone) if gone else program


def store_before_deletes(program: Program, invented: Collection[str]) -> Program:
    """Return the program with `x = value; del a` for `del a; x = value`, a invented: the value needs no name then."""
    ops = list(program.ops)
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
    new_index: List[int] = []
    kept: List[Op] = []
    for index, op in enumerate(program.ops):
        new_index.append(len(kept))
        if index not in gone:
            kept.append(op)
    new_index.append(len(kept))
    return _renumbered(program, kept, new_index)


def _renumbered(program: Program, kept: List[Op], new_index: List[int]) -> Program:
    """Return the program with these ops only; `new_index` maps each old op, or the next one kept, to its new index."""
    for index, op in enumerate(kept):
        if op.target >= 0:
            kept[index] = Op(op.kind, op.arg, op.offset, new_index[op.target], op.handler)
    handlers = tuple([Handler(new_index[h.target], h.depth, h.lasti) for h in program.handlers])
    return Program(tuple(kept), handlers, program.code, program.version)


def drop_unread_locals(program: Program, invented: Collection[str]) -> Program:
    """Return the program without the stores and deletes of invented locals that are never read."""
    read = {op.arg for op in program.ops if op.kind in ("LOAD_LOCAL", "LOAD_LOCAL_AND_CLEAR", "LOAD_CLOSURE")}
    unread = set(invented) - read
    if not unread:
        return program
    ops = program.ops
    targets = {op.target for op in ops if op.target >= 0} | {handler.target for handler in program.handlers}
    new_index: List[int] = []
    kept: List[Op] = []
    for index, op in enumerate(ops):
        new_index.append(len(kept))
        if op.kind == "DELETE_LOCAL" and op.arg in unread:
            continue
        if op.kind == "STORE_LOCAL" and op.arg in unread:
            copied = index not in targets and kept and kept[-1].kind == "COPY" and kept[-1].arg == 1
            if copied and ops[index - 1].kind == "COPY":
                kept.pop()
                new_index[-2:] = [len(kept), len(kept)]
                continue
            op = Op("POP", None, op.offset, -1, op.handler)
        kept.append(op)
    new_index.append(len(kept))
    return _renumbered(program, kept, new_index)
