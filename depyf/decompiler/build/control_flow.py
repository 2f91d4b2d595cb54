"""Control flow: region-tree items -> statements. Written as generators that a trampoline runs, so that deeply
nested programs do not meet Python's recursion limit."""

from __future__ import annotations

from typing import Any, Generator, Iterator, List, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.forms import AiterOf, IterOf
from depyf.decompiler.build.machines import States, expect, goto, machine, settle
from depyf.decompiler.build.matches import match_statement
from depyf.decompiler.build.names import Names
from depyf.decompiler.build.ops import Ops
from depyf.decompiler.build.values import Fresh, FreshDict, Marker, Null, Pattern, Slot, Value, fork
from depyf.decompiler.bytecode.microops import Op, Program
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import (
    CaseNode,
    Expect,
    Goto,
    IfNode,
    Leave,
    LoopNode,
    MachineNode,
    Sequence,
    Settle,
    TryNode,
    WithNode,
)

Steps = Generator[Any, None, None]


def trampoline(steps: Steps) -> None:
    """Run generators that yield the generators they call."""
    stack = [steps]
    while stack:
        for called in stack[-1]:
            stack.append(called)
            break
        else:
            stack.pop()


class Statements(Ops):
    """Builds the statements of one region tree."""

    program: Program

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self.falls = True  # whether control reaches the end of what was built so far
        self.states = States()

    def sequence(self, sequence: Sequence) -> Steps:
        """Build the items one after the other into `self.out`."""
        self.falls = True
        batch: List[Op] = []
        for item in sequence.items:
            if type(item) is Op:
                batch.append(item)
                continue
            if batch:
                self.run_ops(batch)
                batch = []
            yield self.item(item)
        if batch:
            self.run_ops(batch)
            if batch[-1].kind in ("RETURN", "RAISE", "RERAISE", "NOWHERE"):
                self.falls = False
        if self.falls:
            self.flush()

    def item(self, item: Any) -> Steps:
        """The generator that builds one statement."""
        self.offset = item.offset
        if isinstance(item, IfNode):
            return self.if_statement(item)
        if isinstance(item, CaseNode):
            return match_statement(self, item)
        if isinstance(item, LoopNode):
            return self.while_loop(item) if item.kind == "while" else self.for_loop(item)
        if isinstance(item, TryNode):
            return self.try_statement(item)
        if isinstance(item, WithNode):
            return self.with_statement(item)
        if isinstance(item, MachineNode):
            return machine(self, item)
        if isinstance(item, Goto):
            return goto(self, item)
        if isinstance(item, Settle):
            return settle(self)
        if isinstance(item, Expect):
            return expect(self, item)
        assert isinstance(item, Leave)
        return self.leave(item)

    def leave(self, item: Leave) -> Steps:
        """break and continue"""
        self.emit(s.Break() if item.kind == "break" else s.Continue())
        self.falls = False
        return
        yield

    def part(self, sequence: Sequence, values: List[Value], out: List[s.Statement]) -> Steps:
        """Build a part of a statement on a stack and into a body of its own."""
        saved, self.out, self.values = self.out, out, values
        yield self.sequence(sequence)
        self.out = saved

    # -- if

    def if_statement(self, item: IfNode) -> Steps:
        test = self.test(item.test)
        killed, self.killed = self.killed, []
        self.flush()
        node = s.If(test, [], [], origin=item.offset)
        self.out.append(node)
        base = self.values
        ways = []
        for sequence, body in ((item.then, node.body), (item.orelse, node.orelse)):
            if killed:
                saved, self.out = self.out, body
                self.delete(killed)
                self.out = saved
            yield self.part(sequence, fork(base), body)
            ways.append((self.falls, self.values, body))
        self.join(ways, base)

    def join(self, ways: List[Tuple[bool, List[Value], List[s.Statement]]], base: List[Value]) -> None:
        """Go on with what the ways that fall through agree on; where they do not, a temporary says which."""
        falling = [(values, body) for falls, values, body in ways if falls]
        self.falls = bool(falling)
        if not falling:
            self.values = base
            return
        first = falling[0][0]
        if any(len(values) != len(first) for values, _ in falling):
            raise Unstructured("paths meet with different stacks")
        merged: List[Value] = []
        for position, value in enumerate(first):
            others = [values[position] for values, _ in falling]
            if all(alike(value, other) for other in others[1:]):
                merged.append(value)
            else:
                merged.append(self.phi(others, [body for _, body in falling]))
        self.values = merged

    def phi(self, values: List[Value], bodies: List[List[s.Statement]]) -> Value:
        """One temporary for values that differ between paths."""
        name: Optional[str] = None
        for value, body in zip(values, bodies):
            if isinstance(value, (Marker, Null, Slot)) or value.refs > 1:
                raise Unstructured("paths meet with different kinds of values")
            saved, self.out = self.out, body
            value.refs = 0
            (node,) = self.take(value, final=True)
            name = name or self.new_name(node)
            self.emit(s.Assign([s.Name(name)], node))
            self.out = saved
        assert name is not None
        result = Value(s.Name(name))
        result.name = name
        result.refs = 1
        return result

    # -- loops

    def for_loop(self, item: LoopNode) -> Steps:
        value = self.pop()
        (node,) = self.take(value, final=True)
        is_async = item.kind == "async for"
        if isinstance(node, AiterOf if is_async else IterOf):
            node = node.args[0]
        self.flush()
        pattern = Pattern(1, -1, "for")
        make = s.AsyncFor if is_async else s.For
        statement = make(s.Constant(None), node, [], [], origin=item.offset)
        self.out.append(statement)
        after = self.values
        base = [*after, Marker("iterator")]
        base[-1].refs = 1
        inside = fork(base)
        slot = Slot(pattern, 0)
        slot.refs = 1
        yield self.part(item.body, [*inside, slot], statement.body)
        self.check_same(base)
        if not pattern.is_done:
            raise Unstructured("the variable of a for loop is not set first")
        statement.target = pattern.targets[0]
        yield from self.loop_else(item, after, statement)

    def while_loop(self, item: LoopNode) -> Steps:
        self.flush()
        base = self.values
        statement = s.While(s.Constant(True), [], [], origin=item.offset)
        self.out.append(statement)
        self.values = fork(base)
        if item.test is not None:
            saved, self.out = self.out, statement.body
            self.run_ops(item.head)
            test = self.test(item.test)
            self.flush()
            self.out = saved
            if statement.body or self.killed:
                raise Unstructured("the test of a while loop needs statements")
            statement.test = test
        yield self.part(item.body, self.values, statement.body)
        self.check_same(base)
        yield from self.loop_else(item, base, statement)
        if item.test is None and not has_break(statement.body):
            self.falls = False

    def loop_else(self, item: LoopNode, after: List[Value], statement: Any) -> Steps:
        """The else clause, and the state after the loop."""
        self.falls = True
        if item.orelse.items:
            yield self.part(item.orelse, fork(after), statement.orelse)
        self.values = after
        self.falls = True

    def check_same(self, base: List[Value]) -> None:
        """At the end of a loop's body the stack is what it was at its start."""
        if not self.falls:
            return
        if len(base) != len(self.values) or not all(map(alike, base, self.values)):
            raise Unstructured("a loop changes the stack")

    # -- try

    def try_statement(self, item: TryNode) -> Steps:
        self.flush()
        base = self.values
        make = s.TryStar if item.region.is_star else s.Try
        statement = make([], [], [], [], origin=item.offset)
        self.out.append(statement)
        yield self.part(item.body, fork(base), statement.body)
        if item.orelse.items:
            yield self.part(item.orelse, self.values, statement.orelse)
        ways = [(self.falls, self.values, statement.orelse or statement.body)]
        handler = self.program.handlers[item.region.number]
        caught = [Marker("lasti")] * handler.lasti + [Marker("exception state"), Marker("exception")]
        for clause in item.clauses:
            below = fork(base[: handler.depth])
            kind = None
            if clause.type_ops is not None:
                self.values = [*below, *caught]
                ops = clause.type_ops
                kind = self.isolated(ops, lambda: self.take(self.pop())[0])
            name = None if clause.name is None else self.variable_of(clause.name)
            body: List[s.Statement] = []
            statement.handlers.append(s.ExceptHandler(kind, name, body, origin=clause.offset))
            yield self.part(clause.body, [*below, *fork(caught[:-1])], body)
            ways.append((self.falls, self.values, body))
        if item.final.items:
            yield self.part(item.final, [*fork(base[: handler.depth]), *fork(caught)], statement.finalbody)
            if not statement.finalbody:
                statement.finalbody.append(s.Pass())
        self.join(ways, base)

    def variable_of(self, op: Op) -> str:
        """The name that an `except ... as` clause binds."""
        self.declare(op)
        return self.global_name(op.arg) if "GLOBAL" in op.kind else self.variable(op.arg)

    # -- with

    def open_with(self, context: s.Expression, keyword: str) -> None:
        """BEFORE_WITH, BEFORE_ASYNC_WITH: the exit method and the value entered."""
        exit_method = Marker("exit method")
        exit_method.node = context
        self.push(exit_method)
        self.push(Slot(Pattern(1, -1, keyword), 0))

    def with_statement(self, item: WithNode) -> Steps:
        slot = self.values[-1]
        if not isinstance(slot, Slot) or slot.pattern.source != ("async with" if item.is_async else "with"):
            raise Unstructured("a with block without a manager")
        context = self.values[-2].node
        self.flush()
        make = s.AsyncWith if item.is_async else s.With
        entry = s.withitem(context)
        statement = make([entry], [], origin=item.offset)
        self.out.append(statement)
        base = self.values[:-2]
        inside = fork(self.values)
        pattern = Pattern(1, -1, "with")
        inside[-1] = Slot(pattern, 0)
        inside[-1].refs = 1
        yield self.part(item.body, inside, statement.body)
        if not pattern.is_done:
            raise Unstructured("the value of a with statement is not taken first")
        entry.optional_vars = pattern.targets[0] if pattern.targets else None
        self.values = base
        self.falls = True


def alike(a: Value, b: Value) -> bool:
    """Whether two stack entries of different paths are the same thing, said the same way."""
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
            return all(map(_same_key, a.keys, b.keys)) and all(map(alike, a.items, b.items))
        assert isinstance(a, Fresh) and isinstance(b, Fresh)
        return a.kind == b.kind and all(map(alike, a.items, b.items))
    return s.same(a.node, b.node)


def _same_key(a: Optional[s.Expression], b: Optional[s.Expression]) -> bool:
    return a is b or (a is not None and b is not None and s.same(a, b))


def has_break(body: List[s.Statement]) -> bool:
    """Whether a loop body can break out of its loop."""
    return any(isinstance(statement, s.Break) for statement in own_statements(body))


def own_statements(body: List[s.Statement]) -> Iterator[s.Statement]:
    """The statements of a loop body, without those of inner loops and functions (their else clauses count)."""
    work = list(body)
    while work:
        statement = work.pop()
        yield statement
        if isinstance(statement, (s.For, s.While, s.AsyncFor)):
            work.extend(statement.orelse)
        elif isinstance(statement, s.If):
            work.extend([*statement.body, *statement.orelse])
        elif isinstance(statement, (s.With, s.AsyncWith)):
            work.extend(statement.body)
        elif isinstance(statement, s.Match):
            for case in statement.cases:
                work.extend(case.body)
        elif isinstance(statement, (s.Try, s.TryStar)):
            work.extend([*statement.body, *statement.orelse, *statement.finalbody])
            for handler in statement.handlers:
                work.extend(handler.body)
