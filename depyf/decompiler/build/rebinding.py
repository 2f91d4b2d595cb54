"""Values that read a variable which is about to change."""

from __future__ import annotations

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import flush, give_name, release_items, spill_until, take
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Cell, Fresh, Marker, Null, Value, holds, pending_inside, reads


def freeze_tuple(frame: Frame, value: Fresh) -> Value:
    """Replace a tuple that is used twice, as the index of `x[a, b:c] += d` is, by one expression."""
    stack = frame.stack
    held, value.refs = value.refs, 0
    pending = any(pending_inside(value))
    nodes = take(frame, *release_items(value.items))
    settled = Value(s.Tuple(nodes), value.offset)
    settled.refs = held
    stack.values = [settled if other is value else other for other in stack.values]
    if pending:
        stack.add_pending(settled)
    return settled


def before_rebinding(frame: Frame, variable: str, stored: Value | None = None) -> None:
    """Give names to the values on the stack that read a variable which is about to change.

    `stored`, which is about to go into the variable, has been popped and is computed before the change.
    """
    stack, output = frame.stack, frame.output
    if not stack.values and not stack.pending:
        return
    for value in list(stack.all_values()):
        if isinstance(value, (Cell, Marker, Null)) and value.name is None:
            continue
        if value.name == variable:
            value.name = output.new_name(s.Name(variable))
            flush(frame)
            output.body.append(s.Assign([s.Name(value.name)], s.Name(variable), origin=output.offset))
        elif value.name is None and not value.pending and value.items is None and reads(value.node, variable):
            if type(value) is not Value or value.refs != 1 or not read_in_order(frame, value):
                give_name(frame, value)
    own = set(map(id, pending_inside(stored)))
    later = stack.pending[len(stack.pending) - len(own) :]
    if all(id(value) in own for value in later):
        return  # everything else that is pending is written before `stored`
    for value in list(stack.pending):
        if id(value) not in own and value.pending and reads(value.node, variable):
            spill_until(frame, value)


def read_in_order(frame: Frame, value: Value) -> bool:
    """Write a variable where it was read, before it changes: `f(i, g(), i := 3)`. False if it is not on the stack."""
    stack = frame.stack
    place = next((index for index, entry in enumerate(stack.values) if holds(entry, value)), -1)
    if place < 0:
        return False
    pending = next((waiting for depth, waiting in stack.around if place < depth), stack.pending)
    later = [position for position, other in enumerate(pending) if other.born > value.born]
    value.pending = True
    pending.insert(later[0] if later else len(pending), value)
    return True
