"""Walking the region tree, and joining the paths of a statement.

Statements are generators that a trampoline runs, so that deeply nested programs do not meet Python's recursion limit.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import emit, flush, take
from depyf.decompiler.build.symbolic_frame import Frame, Steps, run_ops
from depyf.decompiler.build.symbolic_values import Fresh, FreshDict, Marker, Null, Slot, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import Sequence


def trampoline(steps: Steps) -> None:
    """Run generators that yield the generators they call."""
    stack = [steps]
    while stack:
        for called in stack[-1]:
            stack.append(called)
            break
        else:
            stack.pop()


def walk(frame: Frame, sequence: Sequence) -> Steps:
    """Execute the items of a sequence one after the other."""
    output, regions = frame.output, frame.tables.regions
    output.falls = True
    batch: List[Op] = []
    for item in sequence.items:
        if type(item) is Op:
            batch.append(item)
            continue
        if batch:
            run_ops(frame, batch)
            batch = []
        output.offset = item.offset
        yield regions[type(item)](frame, item)
    if batch:
        run_ops(frame, batch)
        if batch[-1].kind in ("RETURN", "RAISE", "RERAISE", "NOWHERE"):
            output.falls = False
    if output.falls:
        flush(frame)


def build_part(frame: Frame, sequence: Sequence, values: List[Value], out: List[s.Statement]) -> Steps:
    """Execute a part of a statement on a stack and into a body of its own."""
    output = frame.output
    saved, output.body, frame.stack.values = output.body, out, values
    yield walk(frame, sequence)
    output.body = saved


def join(frame: Frame, ways: List[Tuple[bool, List[Value], List[s.Statement]]], base: List[Value]) -> None:
    """Continue with the stack of the paths that fall through; a temporary holds each entry that differs."""
    falling = [(values, body) for falls, values, body in ways if falls]
    frame.output.falls = bool(falling)
    if not falling:
        frame.stack.values = base
        return
    first = falling[0][0]
    if any(len(values) != len(first) for values, _ in falling):
        raise Unstructured("paths meet with different stacks")
    merged: List[Value] = []
    for position, value in enumerate(first):
        others = [values[position] for values, _ in falling]
        if all(same_entry(value, other) for other in others[1:]):
            merged.append(value)
        else:
            merged.append(phi(frame, others, [body for _, body in falling]))
    frame.stack.values = merged


def phi(frame: Frame, values: List[Value], bodies: List[List[s.Statement]]) -> Value:
    """Return one temporary for values that differ between paths."""
    output = frame.output
    name: Optional[str] = None
    for value, body in zip(values, bodies):
        if isinstance(value, (Marker, Null, Slot)) or value.refs > 1:
            raise Unstructured("paths meet with different kinds of values")
        saved, output.body = output.body, body
        value.refs = 0
        (node,) = take(frame, value, final=True)
        name = name or output.new_name(node)
        emit(frame, s.Assign([s.Name(name)], node))
        output.body = saved
    assert name is not None
    result = Value(s.Name(name))
    result.name = name
    result.refs = 1
    return result


def check_unchanged(frame: Frame, base: List[Value]) -> None:
    """Check that the stack at the end of a loop's body is what it was at its start."""
    if not frame.output.falls:
        return
    if len(base) != len(frame.stack.values) or not all(map(same_entry, base, frame.stack.values)):
        raise Unstructured("a loop changes the stack")


def same_entry(a: Value, b: Value) -> bool:
    """Return whether two stack entries of different paths are the same value, spelled the same way."""
    if isinstance(a, Marker) or isinstance(b, Marker):
        return isinstance(a, Marker) and isinstance(b, Marker) and a.what == b.what
    if isinstance(a, Null) or isinstance(b, Null):
        return isinstance(a, Null) and isinstance(b, Null)
    if a.name is not None or b.name is not None:
        return a.name == b.name
    if isinstance(a, Slot) or isinstance(b, Slot) or a.pending or b.pending:
        return False
    if a.items is not None or b.items is not None:
        if type(a) is not type(b) or a.items is None or b.items is None or len(a.items) != len(b.items):
            return False
        if isinstance(a, FreshDict) or isinstance(b, FreshDict):
            assert isinstance(a, FreshDict) and isinstance(b, FreshDict)
            return all(map(_same_key, a.keys, b.keys)) and all(map(same_entry, a.items, b.items))
        assert isinstance(a, Fresh) and isinstance(b, Fresh)
        return a.kind == b.kind and all(map(same_entry, a.items, b.items))
    return s.same(a.node, b.node)


def _same_key(a: Optional[s.Expression], b: Optional[s.Expression]) -> bool:
    return a is b or (a is not None and b is not None and s.same(a, b))
