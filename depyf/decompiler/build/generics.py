"""Type parameters: `def f[T: int]()`, `class C[T]`, `type X[T] = ...`.

The compiler makes a hidden function `<generic parameters of f>` that makes the type parameters and then the
function, class or alias, and calls it at once. Default values are computed outside and handed to it. Bounds and
the values of aliases are functions of their own, which are called when someone asks for them (PEP 695).
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, List, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.control_flow import trampoline
from depyf.decompiler.build.definitions import as_expression
from depyf.decompiler.build.namespaces import Namespaces
from depyf.decompiler.build.values import (
    AliasValue,
    ClassValue,
    Fresh,
    FunctionValue,
    GenericBase,
    TypeParameterValue,
    Value,
)
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured

HIDDEN = "<generic parameters of "

_KINDS: Dict[str, Any] = {
    "TYPEVAR": s.TypeVar,
    "PARAMSPEC": s.ParamSpec,
    "TYPEVARTUPLE": s.TypeVarTuple,
    "TYPEVAR_WITH_BOUND": s.TypeVar,
    "TYPEVAR_WITH_CONSTRAINTS": s.TypeVar,
}


def type_parameters(code: CodeType) -> List[s.TypeParameter]:
    """The type parameters to show for a class of which only the body is known: those that it mentions."""
    if ".type_params" not in code.co_freevars:
        return []
    named = [name for name in code.co_freevars if name.isidentifier() and not name.startswith("__class")]
    return [s.TypeVar(name) for name in named or ["T"]]


class Generics(Namespaces):
    """What makes type parameters and what has them."""

    given: Dict[str, s.Expression]  # default values handed to a hidden function
    made: Optional[FunctionValue]  # what a hidden function returns
    type_parameters: Sequence[s.TypeParameter]

    def hidden_builder(self, code: CodeType) -> Tuple[Generics, Any]:
        """A builder for a hidden function, and its region tree."""
        raise NotImplementedError

    def lazy_expression(self, function: Value) -> s.Expression:
        """The expression that a bound, a default or an alias stands for."""
        if not isinstance(function, FunctionValue) or any(function.parts):
            raise Unstructured("a type that is not computed by a function of its own")
        function.is_defined = True
        self.take(function)
        return as_expression(self.inner(function.code, is_lazy=True))

    # -- the hidden function, from outside

    def call_hidden(self, function: FunctionValue, arguments: Sequence[Value]) -> bool:
        """The call of a hidden function: what it makes is made here."""
        code = function.code
        if not code.co_name.startswith(HIDDEN) or function.refs or len(arguments) != code.co_argcount:
            return False
        nodes = self.take(*arguments, function)
        builder, tree = self.hidden_builder(code)
        builder.given = dict(zip(code.co_varnames[: code.co_argcount], nodes))
        trampoline(builder.sequence(tree))
        value = builder.made
        if value is None or builder.out or builder.pending:
            raise Unstructured("type parameters of an unknown form")
        self.add_pending(value)
        self.push(value)
        return True

    # -- inside

    def op_load_local(self, op: Op) -> None:
        if op.arg in self.given:
            self.silent(self.given[op.arg])
        elif op.arg == ".generic_base":
            self.push(GenericBase(s.Constant(None), op.offset))
        else:
            super().op_load_local(op)

    def op_load_cell(self, op: Op) -> None:
        if op.arg == ".type_params":
            self.push(GenericBase(s.Constant(None), op.offset))
        else:
            super().op_load_cell(op)

    def op_load_from_mapping(self, op: Op) -> None:
        if op.arg == ".type_params" and self.program.code.co_name.startswith(HIDDEN):  # inside the body of a class
            self.take(self.pop())
            self.push(GenericBase(s.Constant(None), op.offset))
        else:
            super().op_load_from_mapping(op)

    def op_store_variable(self, op: Op) -> None:
        value = self.values[-1] if self.values else None
        if isinstance(value, TypeParameterValue) and value.parameter.name == op.arg:
            self.pop()
        elif op.arg == ".type_params" and value is not None:
            self.type_parameters = self.parameters_of(self.pop())
        elif op.arg == ".generic_base" and isinstance(value, GenericBase):
            self.pop()
        else:
            super().op_store_variable(op)

    def op_return(self, op: Op) -> None:
        value = self.values[-1] if self.values else None
        if self.program.code.co_name.startswith(HIDDEN) and isinstance(value, FunctionValue):
            self.pop()
            value.is_defined = True
            self.take(value, final=True)
            value.is_defined = False
            if isinstance(value, ClassValue):
                value.type_parameters = self.type_parameters
            self.made = value
        else:
            super().op_return(op)

    def op_intrinsic(self, op: Op) -> None:
        """INTRINSIC"""
        name, count = op.arg
        if name in _KINDS:
            arguments = self.pop_many(count)
            parameter = _KINDS[name](self.constant(arguments[0]))
            if count == 2:
                parameter.bound = self.lazy_expression(arguments[1])
            self.push(TypeParameterValue(parameter, op.offset))
        elif name == "SET_TYPEPARAM_DEFAULT":
            value, default = self.pop_many(2)
            if not isinstance(value, TypeParameterValue):
                raise Unstructured("a default of something that is no type parameter")
            value.parameter.default_value = self.lazy_expression(default)
            self.push(value)
        elif name == "SET_FUNCTION_TYPE_PARAMS":
            function, parameters = self.pop_many(2)
            if not isinstance(function, FunctionValue) or function.refs:
                raise Unstructured("type parameters of something that is no function")
            function.type_parameters = self.parameters_of(parameters)
            self.push(function)
        elif name == "SUBSCRIPT_GENERIC" and isinstance(self.values[-1], GenericBase):
            pass
        elif name == "TYPEALIAS":
            self.make_alias(self.pop(), op.offset)
        else:
            self.op_unsupported(op)

    def parameters_of(self, value: Value) -> List[s.TypeParameter]:
        """The type parameters in a tuple of them."""
        if not isinstance(value, Fresh) or value.refs:
            raise Unstructured("type parameters of an unknown form")
        found = [item.parameter for item in value.items if isinstance(item, TypeParameterValue)]
        if len(found) != len(value.items):
            raise Unstructured("type parameters of an unknown form")
        return found

    def make_alias(self, value: Value, offset: int) -> None:
        """`type X[T] = ...`, from its name, its type parameters and the function that computes its value."""
        if not isinstance(value, Fresh) or len(value.items) != 3 or value.refs:
            raise Unstructured("a type alias of an unknown form")
        name, parameters, function = value.items
        for item in value.items:
            item.refs -= 1
        if not isinstance(function, FunctionValue) or self.constant(name) != function.code.co_name:
            raise Unstructured("a type alias of an unknown form")
        alias = AliasValue(function.code, function.parts, offset)
        alias.value = self.lazy_expression(function)
        if isinstance(parameters, Fresh):
            alias.type_parameters = self.parameters_of(parameters)
        self.add_pending(alias)
        self.push(alias)
