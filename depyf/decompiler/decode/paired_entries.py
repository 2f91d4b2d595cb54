"""Pairs of stack entries that stand for one thing -> one entry.

Exit methods (3.14): where a `with` statement begins, `__exit__` and `__enter__` are loaded by LOAD_SPECIAL, and the
second is called. Until the statement ends, two stack entries stand for its exit: the method and, above it, the object
that it is of (or NULL, if the first is bound already).

Iterators (3.15): GET_ITER pushes two entries, the iterator and NULL, or a list or tuple and the index of its next item.
FOR_ITER, SEND and POP_ITER take both.

Micro-ops have one entry, a bound method or an iterator. So the second one is removed from the stack here, and the
positions of what is around it are counted without it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import ENDS, NULL_SECOND, Handler, Op, depth_needed, stack_effect

_CALLED = (0, None, NULL_SECOND)
_BEGINNINGS: Dict[Tuple[Tuple[str, Any], ...], str] = {
    (("COPY", 1), ("LOAD_SPECIAL", 1), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 0), ("CALL", _CALLED)): "BEFORE_WITH",
    (("COPY", 1), ("LOAD_SPECIAL", 3), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 2), ("CALL", _CALLED)):
        "BEFORE_ASYNC_WITH",
}  # fmt: skip
_LENGTH = 6
MOST_NESTED = 100  # CPython's compiler stops at 20 blocks
_EXIT_CALL = (3, None, NULL_SECOND)
# Depth of the stack, and the positions of the second entries in it, from the bottom.
_State = Tuple[int, Tuple[int, ...]]


def fold_pairs(ops: List[Op], handlers: List[Handler], gone: str, *, has_indices: bool) -> None:
    """Fold the beginnings of `with` statements, and remove the second entries; give ops not needed the kind `gone`."""
    beginnings = _fold_beginnings(ops, gone)
    states = _states(ops, handlers, beginnings, gone, has_indices)
    depths: Dict[int, int] = {}
    for index, state in states.items():
        op = ops[index]
        if op.handler >= 0 and op.kind != gone:
            kept = handlers[op.handler].depth
            depth = kept - sum([place < kept for place in state[1]])
            if depths.setdefault(op.handler, depth) != depth:
                raise Malformed(f"the handler of the instruction at {op.offset} finds different stacks")
    for index, state in states.items():
        op = ops[index]
        if op.kind == "PUSH_INDEX":
            op.kind = gone
        elif index not in beginnings and state[1]:
            _remove_seconds(op, state, gone)
    for number, depth in depths.items():
        handlers[number].depth = depth


def _fold_beginnings(ops: List[Op], gone: str) -> Set[int]:
    """Fold each beginning into one op; return their indices."""
    targets = {op.target for op in ops}
    found = set()
    for index in [index - 1 for index, op in enumerate(ops) if op.kind == "LOAD_SPECIAL" and op.arg & 1]:
        parts = ops[max(index, 0) : index + _LENGTH]
        kind = _BEGINNINGS.get(tuple((op.kind, op.arg) for op in parts))
        if kind is None or not targets.isdisjoint(range(index + 1, index + _LENGTH)):
            raise Malformed(f"LOAD_SPECIAL at {parts[1].offset} is not at the beginning of a `with` statement")
        for op in parts:
            op.kind, op.arg = gone, None
        parts[-1].kind = kind
        found.add(index + _LENGTH - 1)
    if any(op.kind == "LOAD_SPECIAL" for op in ops):
        raise Malformed("LOAD_SPECIAL is not at the beginning of a `with` statement")
    return found


def _states(
    ops: List[Op], handlers: List[Handler], beginnings: Set[int], gone: str, has_indices: bool
) -> Dict[int, _State]:
    """Return the stack before each op that is reached."""
    states: Dict[int, _State] = {0: (0, ())}
    work = [0]

    def arrive(index: int, state: _State) -> None:
        if states.setdefault(index, state) != state:
            raise Malformed(f"the instruction at {ops[index].offset} is reached with different stacks")

    def follow(index: int, state: _State) -> None:
        if index not in states:
            work.append(index)
        arrive(index, state)

    while work:
        index = work.pop()
        while index < len(ops):
            op, (depth, seconds) = ops[index], states[index]
            if op.kind == gone:
                after: _State = (depth, seconds)
            else:
                if op.handler >= 0:
                    handler = handlers[op.handler]
                    entry = handler.depth + handler.lasti + 1
                    follow(handler.target, (entry, tuple([place for place in seconds if place < handler.depth])))
                after = _after(op, (depth, seconds), index in beginnings, has_indices)
                if op.target >= 0:
                    exhausted = op.kind == "FOR_ITER"
                    follow(op.target, _without(1 + has_indices, (depth, seconds)) if exhausted else after)
                if op.kind in ENDS:
                    break
            index += 1
            is_known = index in states
            if index < len(ops):
                arrive(index, after)
            if is_known:
                break
    return states


def _without(count: int, state: _State) -> _State:
    """Return a stack without its top entries."""
    depth = state[0] - count
    return depth, tuple([place for place in state[1] if place < depth])


def _after(op: Op, state: _State, is_beginning: bool, has_indices: bool) -> _State:
    """Return the stack after an op."""
    depth, seconds = state
    if is_beginning or op.kind == "PUSH_INDEX":
        if len(seconds) >= MOST_NESTED:
            raise Malformed(f"more than {MOST_NESTED} loops and `with` statements are open at {op.offset}")
        # Exit, receiver, what `__enter__` returned; or an index.
        return (depth + 2 if is_beginning else depth + 1), (*seconds, depth)
    if op.kind == "SWAP" and seconds:
        top, other = depth - 1, depth - op.arg
        moved = {top: other, other: top}
        return depth, tuple(sorted([moved.get(place, place) for place in seconds]))
    popped, pushed = stack_effect(op)
    left = _without(popped + (has_indices and op.kind == "YIELD_FROM"), state)
    return left[0] + pushed, left[1]


def _remove_seconds(op: Op, state: _State, gone: str) -> None:
    """Change an op such that it does the same to a stack without second entries."""
    depth, seconds = state
    kind = op.kind
    if kind == gone:
        return
    is_dropped = kind == "POP" and seconds[-1] == depth - 1
    if is_dropped or (kind == "SWAP" and op.arg == 2 and seconds[-1] >= depth - 2):
        op.kind = gone
    elif kind == "CALL" and op.arg == _EXIT_CALL and seconds[-1] == depth - 4:
        op.arg = (2, None, NULL_SECOND)  # as if the first argument was the receiver
    elif seconds[-1] != depth - _TAKEN.get(kind, 0):
        _count_without(op, state, gone)


# Where ops find the second entry that they take: from the top.
_TAKEN = {"WITH_EXCEPT_START": 4, "FOR_ITER": 1, "YIELD_FROM": 2}
_BY_PLACE = frozenset({
    "COPY", "SWAP", "LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_UPDATE", "DICT_MERGE",
})  # fmt: skip


def _count_without(op: Op, state: _State, gone: str) -> None:
    """Correct the place in the stack that an op has for an argument. Raises Malformed if it uses a second entry."""
    depth, seconds = state
    needed = depth_needed(op)
    between = [place for place in seconds if place >= depth - needed]
    if not between:
        return
    if op.kind not in _BY_PLACE or between[0] == depth - needed:
        raise Malformed(f"the instruction at {op.offset} uses the second of two entries that belong together")
    if seconds[-1] == depth - 1 or (op.kind == "MAP_ADD" and seconds[-1] == depth - 2):
        if op.kind != "COPY":
            raise Malformed(f"the instruction at {op.offset} moves the second of two entries that belong together")
    op.arg -= len(between)
    if op.kind == "SWAP" and op.arg == 1:
        op.kind = gone
