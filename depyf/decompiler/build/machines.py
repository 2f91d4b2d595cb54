"""State machines: `while True` over an integer, one arm a block; what crosses between arms on the stack has names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Generator, List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.values import FunctionValue, Marker, Null, Slot, Value
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Block
from depyf.decompiler.structure import Expect, Goto, MachineNode

if TYPE_CHECKING:
    from depyf.decompiler.build.control_flow import Statements

Steps = Generator[Any, None, None]


class States:
    """The names that machines use in one function, and what is on the stack where an arm begins."""

    def __init__(self) -> None:
        self.variables: Dict[int, str] = {}
        self.slots: Dict[int, str] = {}
        self.numbers: Dict[Block, int] = {}
        self.special: Dict[Block, Dict[int, Value]] = {}  # stack entries that are no values, by position

    def number(self, block: Block) -> s.Expression:
        """The state that stands for a block."""
        return s.Constant(self.numbers.setdefault(block, len(self.numbers)))

    def variable(self, builder: Statements, number: int) -> s.Expression:
        """A state variable."""
        if number not in self.variables:
            self.variables[number] = builder.names.fresh(s.Name("state"))
        return s.Name(self.variables[number])

    def slot(self, builder: Statements, position: int) -> str:
        """The name of a stack entry that crosses from arm to arm."""
        if position not in self.slots:
            self.slots[position] = builder.new_name(s.Name(f"stack_{position}"))
        return self.slots[position]


def machine(builder: Statements, item: MachineNode) -> Steps:
    """Build the loop and its arms."""
    states = builder.states
    variable = states.variable(builder, item.variable)
    if item.start is not None:
        go(builder, item.start, [item.variable])
    builder.flush()
    loop = s.While(s.Constant(True), [], origin=item.offset)
    builder.out.append(loop)
    body: List[s.Statement] = loop.body
    for block, sequence in item.arms:
        if item.is_outermost and block is item.arms[-1][0]:
            yield builder.part(sequence, arriving(builder, block), body)
            break
        arm = s.If(s.Compare(variable, ["=="], [states.number(block)]), [], [], origin=block.offset)
        body.append(arm)
        yield builder.part(sequence, arriving(builder, block), arm.body)
        if not arm.body:
            arm.body.append(s.Pass())
        body = arm.orelse
    else:
        body.append(s.Break())
    builder.values = []
    builder.falls = False


def arriving(builder: Statements, block: Block) -> List[Value]:
    """The stack where an arm begins: every value has the name of its position."""
    if block.depth < 0:
        raise Unstructured("a state whose stack is not known")
    special = builder.states.special.get(block, {})
    values: List[Value] = []
    for position in range(block.depth):
        known = special.get(position)
        values.append(known.clone() if known is not None else named(builder, position))
    return values


def named(builder: Statements, position: int) -> Value:
    """A stack entry under the name of its position."""
    name = builder.states.slot(builder, position)
    value = Value(s.Name(name))
    value.name = name
    value.refs = 1
    return value


def go(builder: Statements, block: Block, variables: List[int]) -> None:
    """Give the stack entries their names, then set the state."""
    states = builder.states
    if len(builder.values) != block.depth:
        raise Unstructured("paths meet with different stacks")
    note_special(builder, block)
    give_positions(builder, len(builder.values))
    targets = [states.variable(builder, variable) for variable in variables]
    builder.emit(s.Assign(targets, states.number(block)))


def note_special(builder: Statements, block: Block) -> None:
    """Remember what of the stack where a block begins has no value that a variable could hold."""
    special = builder.states.special.setdefault(block, {})
    for position, value in enumerate(builder.values[: max(block.depth, 0)]):
        if isinstance(value, (Marker, Null)):
            special.setdefault(position, value)
        elif position in special:
            raise Unstructured("paths meet with different kinds of values")


def give_positions(builder: Statements, count: int) -> None:
    """Move the lowest `count` stack entries into the variables of their positions."""
    values, names = [], []
    for position, value in enumerate(builder.values[:count]):
        name = builder.states.slot(builder, position)
        if isinstance(value, (Marker, Null)) or (value.name == name and not value.pending):
            continue
        if isinstance(value, (Slot, FunctionValue)) or value.refs > 1:
            raise Unstructured("a stack entry of an unknown kind crosses between states")
        values.append(value)
        names.append(name)
        builder.values[position] = named(builder, position)
    if not values:
        return
    for value in values:
        value.refs = 0
    nodes = builder.take(*values, final=True)
    builder.killed = [name for name in builder.killed if name not in names]
    if len(nodes) == 1:
        builder.emit(s.Assign([s.Name(names[0])], nodes[0]))
    else:
        builder.emit(s.Assign([s.Tuple([s.Name(name) for name in names])], s.Tuple(nodes)))


def goto(builder: Statements, item: Goto) -> Steps:
    """Set the state, and leave the machine if the state is not one of its own."""
    go(builder, item.block, item.variables)
    if item.leaves:
        builder.emit(s.Break())
    builder.falls = False
    return
    yield


def settle(builder: Statements) -> Steps:
    """Before a statement that uses the top of the stack."""
    give_positions(builder, len(builder.values) - 1)
    return
    yield


def expect(builder: Statements, item: Expect) -> Steps:
    """Set or test the state."""
    variable = builder.states.variable(builder, item.variable)
    number = builder.states.number(item.block)
    if not item.is_test:
        if len(builder.values) > item.block.depth:
            note_special(builder, item.block)
        builder.out.append(s.Assign([variable], number, origin=item.offset))  # what is pending does not mind
        return
    builder.out.append(s.If(s.Compare(variable, ["!="], [number]), [s.Break()], [], origin=item.offset))
    builder.falls = False
    return
    yield
