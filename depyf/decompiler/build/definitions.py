"""Functions and classes that are made here: `def`, `lambda`, `class`, decorators.

A function is a value until it is known what becomes of it: stored under its own name it is a `def`, handed to
LOAD_BUILD_CLASS's function it is the body of a `class`, handed to another call and then stored it is decorated.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, List, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.control_flow import Statements
from depyf.decompiler.build.forms import mentioning
from depyf.decompiler.build.private import mangled
from depyf.decompiler.build.signature import annotation, parameters
from depyf.decompiler.build.values import (
    AliasValue,
    BuildClass,
    Cell,
    ClassValue,
    Fresh,
    FunctionValue,
    GenericBase,
    Value,
)
from depyf.decompiler.bytecode.code_flags import ASYNC_FUNCTIONS, CO_OPTIMIZED
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import shown_name


class Definitions(Statements):
    """What makes functions and classes."""

    is_in_class = False  # whether the text of the class is around whose private names are mangled here

    def inner(self, code: CodeType, is_lazy: bool = False) -> List[s.Statement]:
        """The statements of a nested code object; a lazy one only computes a value and has no docstring."""
        raise NotImplementedError

    # -- functions

    def is_own_closure(self, closure: Value, code: CodeType) -> bool:
        """Whether the cells handed to a function are those of the variables here that have the same names."""
        if not isinstance(closure, Fresh) or closure.name is not None:
            return False
        cells = [item.variable if isinstance(item, Cell) else None for item in closure.items]
        return cells == [self.variable(name) for name in code.co_freevars]

    def make_function(
        self, code: CodeType, defaults: Optional[Value], kwdefaults: Optional[Value], annotations: Optional[Value]
    ) -> None:
        """MAKE_FUNCTION: the function's parts are computed now, its text is decided when it is used."""
        given = [value for value in (defaults, kwdefaults, annotations) if value is not None]
        nodes = iter(self.take(*given))
        parts = [next(nodes) if value is not None else None for value in (defaults, kwdefaults, annotations)]
        value = FunctionValue(code, parts, self.offset)
        value.kills, self.killed = self.killed, []
        if code.co_name == "<lambda>":
            value.node = s.Lambda(parameters(code, parts), as_expression(self.inner(code)))
        self.add_pending(value)
        self.push(value)

    def definition(self, value: FunctionValue, name: str) -> s.Statement:
        """The `def` or `class` statement of a function or class."""
        code = value.code
        generic = value.type_parameters
        if isinstance(value, AliasValue):
            return s.TypeAlias(s.Name(name), generic, value.value)
        body = self.inner(code) or [s.Pass()]
        if isinstance(value, ClassValue):
            return s.ClassDef(name, value.bases, value.keywords, body, value.decorators, generic)
        make = s.AsyncFunctionDef if code.co_flags & ASYNC_FUNCTIONS else s.FunctionDef
        annotations = value.parts[2]
        head = parameters(code, value.parts, self.annotation_node)
        returns = annotation(annotations, "return", self.annotation_node)
        return make(name, head, body, value.decorators, returns, generic)

    def annotation_node(self, node: s.Expression) -> s.Expression:
        """How an annotation is written, given its value."""
        return node

    def define_function(self, value: FunctionValue, name: str) -> bool:
        code = value.code
        if code.co_name.startswith("<") or mangled(code.co_name, self.class_name) != name:
            return False
        if not code.co_flags & CO_OPTIMIZED and not isinstance(value, ClassValue):
            return False
        value.is_defined = True
        self.take(value, final=True)
        self.emit(self.definition(value, code.co_name if self.is_in_class else name))
        return True

    def write_definition(self, value: FunctionValue) -> bool:
        """A function that is used, but not stored: its statement gives it a name of its own."""
        if value.code.co_name.startswith("<"):
            return False
        name = shown_name(value.code.co_name)
        if name in self.names.taken and not self.is_free_again(name):
            return False
        self.names.taken.add(name)
        self.temporaries.append(name)
        value.name = name
        statement = self.definition(value, name)
        statement.origin = value.offset
        self.out.append(statement)
        return True

    def is_free_again(self, name: str) -> bool:
        """Whether a name was given to a function before, on another way, and that is not in use any more."""
        return name in self.temporaries and all(value.name != name for value in self.all_values())

    def decorate(self, decorator: Value, function: FunctionValue) -> bool:
        """`@decorator` before a `def`; the call is written with the definition."""
        if function.code.co_name.startswith("<") or function.refs or function.name is not None:
            return False
        function.is_defined = True
        nodes = self.take(decorator, function)
        decorated = function.clone()
        assert isinstance(decorated, FunctionValue)
        decorated.decorators = [nodes[0], *function.decorators]
        decorated.is_defined = False
        self.add_pending(decorated)
        self.push(decorated)
        return True

    # -- classes

    def build_class(
        self, arguments: Sequence[Tuple[Value, bool]], named: Sequence[Tuple[Optional[str], Value]]
    ) -> None:
        """The call that makes a class: its body, its name, (base, is starred)s and keywords."""
        body, name = arguments[0][0], arguments[1][0]
        if not isinstance(body, FunctionValue) or body.refs or body.name is not None:
            raise Unstructured("a class whose body is not a function made for it")
        if self.constant(name) != body.code.co_name or body.code.co_flags & CO_OPTIMIZED:
            raise Unstructured("a class that does not have the name of its body")
        body.is_defined = True
        bases = [base for base in arguments[2:] if not isinstance(base[0], GenericBase)]
        nodes = self.take(body, *(value for value, _ in bases), *(value for _, value in named))
        split = 1 + len(bases)
        value = ClassValue(body.code, body.parts, self.offset)
        value.bases = [starred(node) if star else node for node, (_, star) in zip(nodes[1:split], bases)]
        value.keywords = [s.keyword(key, node) for node, (key, _) in zip(nodes[split:], named)]
        value.kills, self.killed = self.killed, []
        self.add_pending(value)
        self.push(value)

    def op_load_build_class(self, op: Any) -> None:
        self.push(BuildClass(s.Constant(None), op.offset))


def starred(node: s.Expression) -> s.Expression:
    """`*node`"""
    return node if isinstance(node, s.Starred) else s.Starred(node)


def as_expression(body: Sequence[s.Statement]) -> s.Expression:
    """A lambda's body: its returns, joined by conditional expressions."""
    if body and isinstance(body[0], s.Nonlocal):
        return mentioning(as_expression(body[1:]), body[0].names)
    if len(body) >= 1 and isinstance(body[0], s.If):
        then = as_expression(body[0].body)
        orelse = as_expression(body[0].orelse or body[1:])
        return s.IfExp(body[0].test, then, orelse)
    if not body:
        return s.Constant(None)
    first = body[0]
    if isinstance(first, s.Return):
        return first.value or s.Constant(None)
    if isinstance(first, s.Expr) and len(body) == 1:
        raise Unstructured("a lambda that ends in a statement")
    raise Unstructured("a lambda with statements")
