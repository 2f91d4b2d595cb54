"""Exit methods and their receivers (3.14) -> one stack entry, which BEFORE_WITH pushes.

Where a `with` statement begins, 3.14 loads `__exit__` and `__enter__` by LOAD_SPECIAL and calls the second. Until the
statement ends, two stack entries stand for its exit: the method and, above it, the object that it is of (or NULL, if
the first is bound already). Micro-ops have one entry, a bound method, so here the receivers are removed from the stack,
and the positions of what is around them are counted without them.
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
# Depth of the stack, and the positions of the receivers in it, from the bottom.
_State = Tuple[int, Tuple[int, ...]]


def fold_exit_receivers(ops: List[Op], handlers: List[Handler], gone: str) -> None:
    """Fold the beginnings of `with` statements and remove the receivers; give the ops not needed the kind `gone`."""
    beginnings = _fold_beginnings(ops, gone)
    states = _states(ops, handlers, beginnings, gone)
    depths: Dict[int, int] = {}
    for index, state in states.items():
        op = ops[index]
        if op.handler >= 0 and op.kind != gone:
            kept = handlers[op.handler].depth
            depth = kept - sum([place < kept for place in state[1]])
            if depths.setdefault(op.handler, depth) != depth:
                raise Malformed(f"the handler of the instruction at {op.offset} finds different stacks")
        if index not in beginnings and state[1]:
            _remove_receivers(op, state, gone)
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


def _states(ops: List[Op], handlers: List[Handler], beginnings: Set[int], gone: str) -> Dict[int, _State]:
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
            op, (depth, receivers) = ops[index], states[index]
            if op.kind == gone:
                after: _State = (depth, receivers)
            else:
                if op.handler >= 0:
                    handler = handlers[op.handler]
                    entry = handler.depth + handler.lasti + 1
                    follow(handler.target, (entry, tuple([place for place in receivers if place < handler.depth])))
                after = _after(op, (depth, receivers), index in beginnings)
                if op.target >= 0:
                    exhausted = op.kind == "FOR_ITER"
                    follow(op.target, (depth - 1, receivers) if exhausted else after)
                if op.kind in ENDS:
                    break
            index += 1
            is_known = index in states
            if index < len(ops):
                arrive(index, after)
            if is_known:
                break
    return states


def _after(op: Op, state: _State, is_beginning: bool) -> _State:
    """Return the stack after an op."""
    depth, receivers = state
    if is_beginning:  # exit, receiver, what `__enter__` returned
        if len(receivers) >= MOST_NESTED:
            raise Malformed(f"more than {MOST_NESTED} `with` statements are open at {op.offset}")
        return depth + 2, (*receivers, depth)
    if op.kind == "SWAP" and receivers:
        top, other = depth - 1, depth - op.arg
        moved = {top: other, other: top}
        return depth, tuple(sorted([moved.get(place, place) for place in receivers]))
    popped, pushed = stack_effect(op)
    left = depth - popped
    return left + pushed, tuple([place for place in receivers if place < left])


def _remove_receivers(op: Op, state: _State, gone: str) -> None:
    """Change an op such that it does the same to a stack without receivers."""
    depth, receivers = state
    kind = op.kind
    if kind == gone:
        return
    is_dropped = kind == "POP" and receivers[-1] == depth - 1
    if is_dropped or (kind == "SWAP" and op.arg == 2 and receivers[-1] >= depth - 2):
        op.kind = gone
    elif kind == "CALL" and op.arg == _EXIT_CALL and receivers[-1] == depth - 4:
        op.arg = (2, None, NULL_SECOND)  # as if the first argument was the receiver
    elif kind == "WITH_EXCEPT_START" and receivers[-1] == depth - 4:
        return
    else:
        needed = depth_needed(op)
        between = [place for place in receivers if place >= depth - needed]
        if kind not in ("SWAP", "COPY"):
            if between:
                raise Malformed(f"the instruction at {op.offset} uses the receiver of an exit method")
            return
        if (between and between[0] == depth - needed) or (kind == "SWAP" and receivers[-1] == depth - 1):
            raise Malformed(f"the instruction at {op.offset} moves the receiver of an exit method")
        op.arg = needed - len(between)
        if kind == "SWAP" and op.arg == 1:
            op.kind = gone
