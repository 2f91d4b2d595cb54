"""Modules and class bodies: code whose variables live in a mapping, and what the compiler adds around it.

A class body begins by storing `__module__` and `__qualname__` and ends by storing the cell of `__class__`; a
docstring is a store to `__doc__`; an annotated name is a store into `__annotations__`.
"""

from __future__ import annotations

from typing import Any, List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.definitions import Definitions
from depyf.decompiler.build.finish import bodies, own_statements
from depyf.decompiler.build.private import unmangle
from depyf.decompiler.build.values import Cell, Value
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured

# What the compiler stores at the start and at the end of a class body.
_FIRST = frozenset({"__module__", "__qualname__", "__type_params__", "__classdict__", "__firstlineno__"})
_LAST = frozenset({"__static_attributes__"})
# The names under which it stores cells that the class statement itself asks for.
_CELLS = {"__classcell__": "__class__", "__classdictcell__": "__classdict__"}


class Namespaces(Definitions):
    """What only modules and class bodies do, and what they do otherwise than functions."""

    sets_up_annotations = False
    annotations_are_strings: bool  # `from __future__ import annotations`, said in the text

    @property
    def is_namespace(self) -> bool:
        """Whether variables live in a mapping."""
        return not self.program.code.co_flags & CO_OPTIMIZED

    # -- names

    def op_load_global(self, op: Op) -> None:
        if op.kind == "LOAD_GLOBAL" and self.is_namespace:
            self.declare_global(self.global_name(op.arg))
        super().op_load_global(op)

    def op_load_class_cell(self, op: Op) -> None:
        self.event(s.Name(self.variable(op.arg)))

    def op_load_locals(self, op: Op) -> None:
        self.silent(s.Call(s.Name("locals")))

    def op_load_from_mapping(self, op: Op) -> None:
        self.take(self.pop())
        self.event(s.Name(self.variable(op.arg)))

    def op_store_variable(self, op: Op) -> None:
        value = self.values[-1] if self.values else None
        if isinstance(value, Cell) and _CELLS.get(op.arg) == value.variable and self.is_namespace:
            self.pop()
            return
        super().op_store_variable(op)

    def op_return(self, op: Op) -> None:
        value = self.values[-1] if self.values else None
        if isinstance(value, Cell) and value.variable == "__class__" and self.is_namespace:
            self.pop()
            self.emit(s.Return())
            return
        super().op_return(op)

    # -- annotations

    def annotation_node(self, node: s.Expression) -> s.Expression:
        if not self.annotations_are_strings:
            return node
        if not isinstance(node, s.Constant) or not isinstance(node.value, str):
            raise Unstructured("an annotation that is not text")
        return s.Name(node.value)  # the text itself

    def op_setup_annotations(self, op: Op) -> None:
        """SETUP_ANNOTATIONS: said by the first annotation."""
        self.sets_up_annotations = True

    def op_store_subscr(self, op: Op) -> None:
        if not self.annotates():
            super().op_store_subscr(op)
            return
        value, owner, key = self.pop_many(3)
        name = self.constant(key)
        annotation = self.annotation_node(self.take(value, owner, final=True)[0])
        self.flush()
        statement = s.AnnAssign(s.Name(name), annotation)
        previous = self.out[-1] if self.out else None
        if isinstance(previous, s.Assign) and len(previous.targets) == 1:
            target = previous.targets[0]
            if isinstance(target, s.Name) and target.id == name:
                statement.value = previous.value
                self.out.pop()
        self.emit(statement)

    def annotates(self) -> bool:
        """Whether `__annotations__[name] = ...` is about to be executed."""
        if not self.is_namespace or len(self.values) < 3:
            return False
        owner, key = self.values[-2], self.values[-1]
        if not _is_named(owner, "__annotations__") or not isinstance(key.node, s.Constant) or key.pending:
            return False
        return isinstance(key.node.value, str) and key.node.value.isidentifier()

    # -- interactive code

    def op_print_expr(self, op: Op) -> None:
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Expr(node))

    # -- bodies

    def namespace_body(self, body: List[s.Statement]) -> List[s.Statement]:
        """The statements as they were written: without what the compiler adds, docstring first."""
        code = self.program.code
        is_class = code.co_name != "<module>"
        if is_class:
            body = _without_additions(body)
            unmangle(body, code.co_name)
        if body and _stored(body[0]) == "__doc__":
            first = body[0]
            assert isinstance(first, s.Assign)
            if isinstance(first.value, s.Constant) and isinstance(first.value.value, str):
                body = [s.Expr(first.value, origin=first.origin), *body[1:]]
        if self.sets_up_annotations and not any(isinstance(node, s.AnnAssign) for node in own_statements(body)):
            # There was one that is never reached.
            body.append(s.If(s.Constant(False), [s.AnnAssign(s.Name("__annotations__"), s.Constant(...))]))
        return body


def _without_additions(body: List[s.Statement]) -> List[s.Statement]:
    start, end = 0, len(body)
    waiting = set(_FIRST)
    while start < end and _stored(body[start]) in waiting:
        waiting.discard(_stored(body[start]))
        start += 1
    while start < end and _stored(body[end - 1]) in _LAST:
        end -= 1
    return body[start:end]


def _stored(statement: s.Statement) -> str:
    """`x` for the statement `x = ...`"""
    if not isinstance(statement, s.Assign) or len(statement.targets) != 1:
        return ""
    target: Any = statement.targets[0]
    return str(target.id) if isinstance(target, s.Name) else ""


def _is_named(value: Value, name: str) -> bool:
    return isinstance(value.node, s.Name) and value.node.id == name and value.pending and value.refs == 1


def drop_returns(body: List[s.Statement]) -> None:
    """Take out the returns with which a module or class body ends: it ends anyway. In the last loop they are breaks."""
    work = [body]
    while work:
        current = work.pop()
        while current and isinstance(current[-1], s.Return) and current[-1].value is None:
            current.pop()
        last = current[-1] if current else None
        if isinstance(last, (s.Try, s.TryStar)):
            work.extend([*(handler.body for handler in last.handlers), last.orelse or last.body])
        elif isinstance(last, (s.For, s.While, s.AsyncFor)):
            _break_loop(last.body)
            work.append(last.orelse)
        elif last is not None:
            work.extend(bodies(last))


def _break_loop(body: List[s.Statement]) -> None:
    """Make the returns of a loop's body breaks, where they are not in a loop inside it."""
    work = [body]
    while work:
        current = work.pop()
        for position, statement in enumerate(current):
            if isinstance(statement, s.Return) and statement.value is None:
                current[position] = s.Break(origin=statement.origin)
            elif isinstance(statement, (s.For, s.While, s.AsyncFor)):
                work.append(statement.orelse)
            else:
                work.extend(bodies(statement))


def future_imports(body: List[s.Statement]) -> int:
    """How many statements at the start of a module are its docstring and imports from `__future__`."""
    count = 0
    for position, statement in enumerate(body):
        is_docstring = position == 0 and isinstance(statement, s.Expr) and isinstance(statement.value, s.Constant)
        if not is_docstring and not (isinstance(statement, s.ImportFrom) and statement.module == "__future__"):
            break
        count += 1
    return count
