"""State machines: `while True` over an integer, one arm a block; what crosses between arms on the stack has names."""

from __future__ import annotations

from typing import List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import emit, flush, take
from depyf.decompiler.build.region_walk import build_part
from depyf.decompiler.build.symbolic_frame import Frame, Steps
from depyf.decompiler.build.symbolic_values import FunctionValue, Marker, Null, Slot, Value
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block
from depyf.decompiler.structure import Expect, Goto, MachineNode, Settle


def state_number(frame: Frame, block: Block) -> s.Expression:
    """Return the state that stands for a block."""
    numbers = frame.states.numbers
    return s.Constant(numbers.setdefault(block, len(numbers)))


def state_variable(frame: Frame, number: int) -> s.Expression:
    """Return a state variable."""
    variables = frame.states.variables
    if number not in variables:
        variables[number] = frame.output.names.fresh(s.Name("state"))
    return s.Name(variables[number])


def slot_name(frame: Frame, position: int) -> str:
    """Return the name of a stack entry that crosses from arm to arm."""
    slots = frame.states.slots
    if position not in slots:
        slots[position] = frame.output.new_name(s.Name(f"stack_{position}"))
    return slots[position]


def state_machine(frame: Frame, item: MachineNode) -> Steps:
    """Write the loop and its arms."""
    variable = state_variable(frame, item.variable)
    if item.start is not None:
        set_state(frame, item.start, [item.variable])
    flush(frame)
    loop = s.While(s.Constant(True), [], origin=item.offset)
    frame.output.body.append(loop)
    body: List[s.Statement] = loop.body
    for block, sequence in item.arms:
        if item.is_outermost and block is item.arms[-1][0]:
            yield build_part(frame, sequence, entry_stack(frame, block), body)
            break
        arm = s.If(s.Compare(variable, ["=="], [state_number(frame, block)]), [], [], origin=block.offset)
        body.append(arm)
        yield build_part(frame, sequence, entry_stack(frame, block), arm.body)
        if not arm.body:
            arm.body.append(s.Pass())
        body = arm.orelse
    else:
        body.append(s.Break())
    frame.stack.values = []
    frame.output.falls = False


def entry_stack(frame: Frame, block: Block) -> List[Value]:
    """Return the stack where an arm begins: every value has the name of its position."""
    if block.depth < 0:
        raise Unstructured("a state whose stack is not known")
    special = frame.states.special.get(block, {})
    values: List[Value] = []
    for position in range(block.depth):
        known = special.get(position)
        values.append(known.clone() if known is not None else slot_value(frame, position))
    return values


def slot_value(frame: Frame, position: int) -> Value:
    """Return a stack entry under the name of its position."""
    name = slot_name(frame, position)
    value = Value(s.Name(name))
    value.name = name
    value.refs = 1
    return value


def set_state(frame: Frame, block: Block, variables: List[int]) -> None:
    """Give the stack entries their names, then set the state."""
    if len(frame.stack.values) != block.depth:
        raise Unstructured("paths meet with different stacks")
    record_special(frame, block)
    move_to_slots(frame, len(frame.stack.values))
    targets = [state_variable(frame, variable) for variable in variables]
    emit(frame, s.Assign(targets, state_number(frame, block)))


def record_special(frame: Frame, block: Block) -> None:
    """Record the entries of the stack at the start of a block that no variable can hold."""
    special = frame.states.special.setdefault(block, {})
    for position, value in enumerate(frame.stack.values[: max(block.depth, 0)]):
        if isinstance(value, (Marker, Null)):
            special.setdefault(position, value)
        elif position in special:
            raise Unstructured("paths meet with different kinds of values")


def move_to_slots(frame: Frame, count: int) -> None:
    """Move the lowest `count` stack entries into the variables of their positions."""
    stack = frame.stack
    values, names = [], []
    for position, value in enumerate(stack.values[:count]):
        name = slot_name(frame, position)
        if isinstance(value, (Marker, Null)) or (value.name == name and not value.pending):
            continue
        if isinstance(value, (Slot, FunctionValue)) or value.refs > 1:
            raise Unstructured("a stack entry of an unknown kind crosses between states")
        values.append(value)
        names.append(name)
        stack.values[position] = slot_value(frame, position)
    if not values:
        return
    for value in values:
        value.refs = 0
    nodes = take(frame, *values, final=True)
    stack.killed = [name for name in stack.killed if name not in names]
    if len(nodes) == 1:
        emit(frame, s.Assign([s.Name(names[0])], nodes[0]))
    else:
        emit(frame, s.Assign([s.Tuple([s.Name(name) for name in names])], s.Tuple(nodes)))


def go_to_state(frame: Frame, item: Goto) -> Steps:
    """Set the state, and leave the machine if the state is not one of its own."""
    set_state(frame, item.block, item.variables)
    if item.leaves:
        emit(frame, s.Break())
    frame.output.falls = False
    return
    yield


def name_stack(frame: Frame, item: Settle) -> Steps:
    """Name the stack entries before a statement that uses the topmost."""
    move_to_slots(frame, len(frame.stack.values) - 1)
    return
    yield


def expect_state(frame: Frame, item: Expect) -> Steps:
    """Set the state, or leave the loop unless it is this one."""
    output = frame.output
    variable = state_variable(frame, item.variable)
    number = state_number(frame, item.block)
    if not item.is_test:
        if len(frame.stack.values) > item.block.depth:
            record_special(frame, item.block)
        output.body.append(s.Assign([variable], number, origin=item.offset))  # pending values may be written after it
        return
    output.body.append(s.If(s.Compare(variable, ["!="], [number]), [s.Break()], [], origin=item.offset))
    output.falls = False
    return
    yield
