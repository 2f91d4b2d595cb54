"""The region tree: statements whose contents are micro-ops. What `structure` returns and `build` reads."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.flow.graph import Block, Case, Test
from depyf.decompiler.flow.regions import Region


class Sequence:
    """Items in order; the parts of a statement are sequences."""

    __slots__ = ("items",)

    def __init__(self, items: Optional[List[Item]] = None) -> None:
        self.items: List[Item] = items if items is not None else []


class IfNode:
    """Pop what the test needs, then one of the two."""

    __slots__ = ("test", "then", "orelse", "offset")

    def __init__(self, test: Test, offset: int) -> None:
        self.test = test
        self.then = Sequence()
        self.orelse = Sequence()
        self.offset = offset


class CaseNode:
    """One `case` of a match statement, the subject being on the stack; `orelse` holds the cases after it."""

    __slots__ = ("case", "body", "orelse", "offset")

    def __init__(self, case: Case, offset: int) -> None:
        self.case = case
        self.body = Sequence()
        self.orelse = Sequence()
        self.offset = offset


class LoopNode:
    """`while` (`head` computes the test, None means `while True`), or `for` and `async for`, whose iterator is
    on the stack."""

    __slots__ = ("kind", "head", "test", "body", "orelse", "taken", "offset")

    def __init__(self, kind: str, offset: int) -> None:
        self.kind = kind  # "while", "for", "async for"
        self.head: List[Op] = []
        self.test: Optional[Test] = None
        self.body = Sequence()
        self.orelse = Sequence()
        self.taken = 0  # entries of the stack that its `break` leaves without: it stands around a `with`
        self.offset = offset


class Clause:
    """One `except`: the ops that compute its type (None: bare), the variable it binds, and its body."""

    __slots__ = ("type_ops", "name", "body", "block", "offset")

    def __init__(self, type_ops: Optional[List[Op]], name: Optional[Op], block: Block, offset: int) -> None:
        self.type_ops = type_ops
        self.name = name
        self.block = block
        self.body = Sequence()
        self.offset = offset


class TryNode:
    """`try` with clauses and else, or with `final`."""

    __slots__ = ("region", "body", "clauses", "orelse", "final", "offset")

    def __init__(self, region: Region, offset: int) -> None:
        self.region = region
        self.body = Sequence()
        self.clauses: List[Clause] = []
        self.orelse = Sequence()
        self.final = Sequence()
        self.offset = offset


class WithNode:
    """`with`: the exit method and the value entered are on the stack."""

    __slots__ = ("region", "body", "is_async", "offset")

    def __init__(self, region: Region, is_async: bool, offset: int) -> None:
        self.region = region
        self.body = Sequence()
        self.is_async = is_async
        self.offset = offset


class MachineNode:
    """`while True` over an integer: each arm is the code from one block on, up to where it sets the next state."""

    __slots__ = ("arms", "is_outermost", "start", "variable", "offset")

    def __init__(self, start: Optional[Block], variable: int, is_outermost: bool, offset: int) -> None:
        self.is_outermost = is_outermost  # no state but those of its arms can occur
        self.arms: List[Tuple[Block, Sequence]] = []
        self.start = start  # the first state; None: what comes before has set it
        self.variable = variable  # which of the function's state variables it runs on
        self.offset = offset


class Goto:
    """Set the state to a block; `leaves`: that is not one of the machine around, which is left.

    `variables`: the state variables of the contexts that are left, and that of the block's own.
    """

    __slots__ = ("block", "variables", "leaves", "offset")

    def __init__(self, block: Block, variables: List[int], leaves: bool, offset: int) -> None:
        self.block = block
        self.variables = variables
        self.leaves = leaves
        self.offset = offset


class Settle:
    """Before a statement: give the stack entries names, but for the topmost, which the statement uses."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset


class Expect:
    """Set the state, or test it: at the end of a `for` loop's body, leave the loop unless the state is its header."""

    __slots__ = ("block", "is_test", "variable", "offset")

    def __init__(self, block: Block, variable: int, offset: int, is_test: bool = True) -> None:
        self.block = block
        self.is_test = is_test
        self.variable = variable
        self.offset = offset


class Leave:
    """`break` or `continue`."""

    __slots__ = ("kind", "offset")

    def __init__(self, kind: str, offset: int) -> None:
        self.kind = kind
        self.offset = offset


Item = Union[Op, IfNode, CaseNode, LoopNode, TryNode, WithNode, Leave, MachineNode, Goto, Settle, Expect]


def parts(item: Any) -> List[Sequence]:
    """Return the sequences directly inside an item."""
    if isinstance(item, IfNode):
        return [item.then, item.orelse]
    if isinstance(item, (CaseNode, LoopNode)):
        return [item.body, item.orelse]
    if isinstance(item, TryNode):
        return [item.body, *(clause.body for clause in item.clauses), item.orelse, item.final]
    if isinstance(item, WithNode):
        return [item.body]
    if isinstance(item, MachineNode):
        return [sequence for _, sequence in item.arms]
    return []
