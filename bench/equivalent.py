"""Reasons why a mutant that is still proved is the same program, found without the prover.

`reason(program, mutant, at)` returns one as a line of English, or None: then a person has to read the mutant. The
two programs differ only at the op `at` (see mutants.py). Nothing of the prover is used here.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from depyf.decompiler.bytecode.microops import BRANCHES, ENDS, Op, Program

# Ops that a program can observe only through the variables and the lifetimes of values that they change.
SILENT = frozenset({
    "CONST", "LOAD_LOCAL", "STORE_LOCAL", "DELETE_LOCAL", "POP", "COPY", "SWAP", "JUMP", "PUSH_NULL", "BUILD_TUPLE",
    "BUILD_LIST", "POP_EXCEPT", "RETURN", "RERAISE", "IS", "BRANCH_NONE", "BRANCH_NOT_NONE",
})  # fmt: skip
GIVES_BOOL = frozenset({"IS", "CONTAINS", "TO_BOOL"})
NEW_AND_EMPTY = frozenset({("BUILD_LIST", 0), ("BUILD_MAP", 0), ("BUILD_SET", 0)})
PLAIN = (type(None), int, float, str, bytes, tuple)  # constants whose truth is known


def reason(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Return why the two are the same program, or None if no rule applies."""
    for rule in RULES:
        found = rule(program, mutant, at)
        if found is not None:
            return found
    return None


def same_operands(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match swapped operands that are the same constant or the same variable."""
    if mutant.ops[at].kind != "SWAP" or mutant.ops[at + 1].kind != program.ops[at].kind or at < 2:
        return None
    first, second = program.ops[at - 2 : at]
    if first.kind == "COPY" and first.arg == 1 and at > 2:
        first = program.ops[at - 3]
    if (first.kind, first.arg) == (second.kind, second.arg) and (first.kind, first.arg) in NEW_AND_EMPTY:
        return "both operands are new and empty"
    if first.kind == second.kind == "CONST" and constant(first) == constant(second):
        return f"both operands are {first.arg!r}"
    if first.kind == second.kind == "LOAD_LOCAL" and first.arg == second.arg:
        return f"both operands are {first.arg}"
    return None


def constant(op: Op) -> Tuple[type, str]:
    return type(op.arg), repr(op.arg)


def same_local(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a read of another local that was given the same value just before."""
    old, new = program.ops[at], mutant.ops[at]
    if old.kind != "LOAD_LOCAL" or new.kind != "LOAD_LOCAL" or old.arg == new.arg:
        return None
    entered = {op.target for op in program.ops} | {handler.target for handler in program.handlers}
    position = at
    while position > 1 and position not in entered:
        position -= 1
        store, load = program.ops[position], program.ops[position - 1]
        if store.kind in ("STORE_LOCAL", "DELETE_LOCAL") and store.arg in (old.arg, new.arg):
            same = {store.arg, load.arg} == {old.arg, new.arg} and load.kind == "LOAD_LOCAL" and position not in entered
            return f"{new.arg} was just set to {old.arg}, or the other way round" if same else None
    return None


def not_of_a_bool(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a second `not` of a bool, which has no effect."""
    before, op = program.ops[at - 1], program.ops[at]
    is_bool = before.kind in GIVES_BOOL or (before.kind == "UNARY" and before.arg == "not")
    twice = len(mutant.ops) > len(program.ops) and mutant.ops[at + 1].kind == op.kind
    if op.kind == "UNARY" and op.arg == "not" and is_bool and twice:
        return "`not` of True or False does nothing but give the other"
    return None


# -- branches that are decided


Known = Dict[str, Any]


def decided(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a place that is never reached, or a jump that leads to the same place in another way."""
    before = constants(program)
    known = before[at]
    if known is None:
        return "the place is never reached: a test before it is decided"
    old, new = program.ops[at], mutant.ops[at]
    if old.kind != new.kind or old.target < 0:
        return None
    jumping = dict(edges(program, at, known)).get(old.target)
    if jumping is None:
        return "the branch is never taken: its test is decided"
    if landing(program, old.target, jumping) == landing(program, new.target, jumping):
        return "both targets lead to the same place: the tests on the way are decided"
    if returned(program, old.target) == returned(program, new.target) is not None:
        return "both targets only return the same constant"
    return None


def only_raises_again(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a lost handler that only reraises, as its tests are decided."""
    old, new = program.ops[at], mutant.ops[at]
    known = constants(program)[at]
    if old.handler < 0 or new.handler >= 0 or known is None or len(program.ops) != len(mutant.ops):
        return None
    work, seen = [(program.handlers[old.handler].target, known)], set()
    while work:
        position, state = work.pop()
        op = program.ops[position]
        test = tested_local(program, position)
        is_test = op.kind in BRANCHES and test is not None and test in state
        if (op.kind not in SILENT and op.kind != "PUSH_EXC_INFO" and not is_test) or op.kind == "RETURN":
            return None
        if position not in seen:
            seen.add(position)
            for edge in edges(program, position, state):
                if op.kind == "RERAISE" or not leads(program, op, edge[0]):
                    work.append(edge)
    return "the handler only raises again: its tests are decided"


def leads(program: Program, op: Op, target: int) -> bool:
    """Return whether that target is the op's handler."""
    return op.handler >= 0 and program.handlers[op.handler].target == target


def tested_local(program: Program, at: int) -> Optional[str]:
    """Return the local that a branch tests: LOAD_LOCAL, perhaps COPY 1, perhaps TO_BOOL before it."""
    entered = {op.target for op in program.ops}
    for kind in ("TO_BOOL", "COPY", "LOAD_LOCAL"):
        if at in entered or at == 0:
            return None
        if program.ops[at - 1].kind == kind:
            at -= 1
    return str(program.ops[at].arg) if program.ops[at].kind == "LOAD_LOCAL" else None


def taken(kind: str, value: Any) -> bool:
    """Return whether a branch on a constant jumps."""
    asked = value is None if kind in ("BRANCH_NONE", "BRANCH_NOT_NONE") else bool(value)
    return asked == (kind in ("BRANCH_TRUE", "BRANCH_NONE"))


def landing(program: Program, at: int, known: Known) -> int:
    """Return where control arrives through jumps and tests of locals with known values."""
    for _ in range(100):
        op = program.ops[at]
        branch = program.ops[at + 1] if at + 1 < len(program.ops) else op
        if op.kind == "JUMP":
            at = op.target
        elif op.kind == "LOAD_LOCAL" and branch.kind in BRANCHES and op.arg in known:
            at = branch.target if taken(branch.kind, known[op.arg]) else at + 2
        else:
            break
    return at


def returned(program: Program, at: int) -> Optional[Tuple[type, str]]:
    """Return the constant that is returned from here at once, or None."""
    while program.ops[at].kind in ("POP", "JUMP"):
        at = program.ops[at].target if program.ops[at].kind == "JUMP" else at + 1
    first, second = program.ops[at : at + 2] if at + 2 <= len(program.ops) else (program.ops[at],) * 2
    return constant(first) if first.kind == "CONST" and second.kind == "RETURN" else None


def constants(program: Program) -> List[Optional[Known]]:
    """Return, for each op, the locals that hold one constant on every path to it; None if it is never reached."""
    before: List[Optional[Known]] = [None] * (len(program.ops) + 1)
    before[0] = {}
    work = [0]
    while work:
        at = work.pop()
        known = before[at]
        assert known is not None
        for target, state in edges(program, at, known):
            if meet(before, target, state):
                work.append(target)
    return before


def edges(program: Program, at: int, known: Known) -> Iterator[Tuple[int, Known]]:
    """Yield where control can continue after an op, and the constants known there."""
    op = program.ops[at]
    if op.handler >= 0:
        yield program.handlers[op.handler].target, known
    local = tested_local(program, at) if op.kind in BRANCHES else None
    outcomes = [True, False]
    if local is not None and local in known:
        outcomes = [taken(op.kind, known[local])]
    if op.target >= 0 and True in outcomes:
        yield op.target, {**known, local: None} if local is not None and op.kind == "BRANCH_NONE" else known
    if op.kind not in ENDS and at + 1 < len(program.ops) and False in outcomes:
        is_none = local is not None and op.kind == "BRANCH_NOT_NONE"
        yield at + 1, {**known, str(local): None} if is_none else after(program, at, known)


def after(program: Program, at: int, known: Known) -> Known:
    """Return the constants known after an op that does not jump."""
    op = program.ops[at]
    if op.kind not in ("STORE_LOCAL", "DELETE_LOCAL"):
        return known
    new = {name: value for name, value in known.items() if name != op.arg}
    source = program.ops[at - 1]
    if op.kind == "STORE_LOCAL" and source.kind == "CONST" and isinstance(source.arg, PLAIN):
        new[op.arg] = source.arg
    return new


def meet(before: List[Optional[Known]], at: int, state: Known) -> bool:
    """Merge the constants of one more path to an op; return whether fewer are known now."""
    old = before[at]
    if old is None:
        before[at] = dict(state)
        return True
    kept = {n: v for n, v in old.items() if n in state and (type(v), repr(v)) == (type(state[n]), repr(state[n]))}
    before[at] = kept
    return len(kept) < len(old)


# -- variables that nothing reads


def nothing_after(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a store or a delete after which the frame ends without any event."""
    changed = changed_locals(program, mutant, at)
    if not changed:
        return None
    start = at if program.ops[at].kind != "CONST" else at + 1
    for position, op in walk(program, start):
        if position != start and (op.kind not in SILENT or (op.kind == "LOAD_LOCAL" and op.arg in changed)):
            return None
    return "the frame ends without doing anything more"


def unread(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a store to a local that is replaced or deleted before any event."""
    changed = changed_locals(program, mutant, at)
    if len(changed) != 1:
        return None
    (name,) = changed
    start = at if program.ops[at].kind != "CONST" else at + 1

    def stops(position: int, op: Op) -> bool:
        return position != start and op.kind in ("STORE_LOCAL", "DELETE_LOCAL") and op.arg == name

    for position, op in walk(program, start, stops):
        if position == start or stops(position, op):
            continue
        if op.kind not in SILENT or (op.kind == "LOAD_LOCAL" and op.arg == name):
            return None
    return f"{name} is replaced or deleted before anything is done"


def changed_locals(program: Program, mutant: Program, at: int) -> Set[str]:
    """Return the locals that have another value right after the mutated op."""
    old, new = program.ops[at], mutant.ops[at]
    if len(mutant.ops) != len(program.ops):
        return set()
    if old.kind == "CONST" and new.kind == "CONST" and program.ops[at + 1].kind == "STORE_LOCAL":
        return {program.ops[at + 1].arg}
    if old.kind in ("STORE_LOCAL", "DELETE_LOCAL"):
        return {op.arg for op in (old, new) if op.kind == old.kind}
    return set()


def held_anyway(program: Program, mutant: Program, at: int) -> Optional[str]:
    """Match a second name for a value that a variable of the function holds as long."""
    store = program.ops[at]
    copy, kept = mutant.ops[at : at + 2]
    is_new = kept.kind == "STORE_LOCAL" and kept.arg not in program.code.co_varnames
    if store.kind != "STORE_LOCAL" or copy.kind != "COPY" or not is_new:
        return None
    again = [
        position
        for position, op in walk(program, at)
        if position != at and op.kind in ("STORE_LOCAL", "DELETE_LOCAL") and op.arg == store.arg
    ]
    for other in again:
        for position, op in walk(program, other, lambda position, op: position == at):
            if position not in (other, at) and op.kind not in SILENT:
                return None
    return f"{store.arg} holds the value as long"


Stops = Callable[[int, Op], bool]


def walk(program: Program, start: int, stops: Stops = lambda at, op: False) -> Iterator[Tuple[int, Op]]:
    """Yield the ops that can run from `start`, handlers included, up to those where it `stops`."""
    seen, work = {start}, [start]
    while work:
        at = work.pop()
        op = program.ops[at]
        yield at, op
        if at != start and stops(at, op):
            continue
        can_raise = op.kind not in SILENT or op.kind == "RERAISE"
        for target, _ in edges(program, at, {}):
            if target not in seen and (can_raise or not leads(program, op, target)):
                seen.add(target)
                work.append(target)


RULES = (same_operands, same_local, not_of_a_bool, decided, only_raises_again, nothing_after, unread, held_anyway)
