"""Type parameters: `def f[T: int]()`, `class C[T]`, `type X[T] = ...`.

The compiler makes a hidden function `<generic parameters of f>` that makes the type parameters and then the
function, class or alias, and calls it at once. Default values are computed outside and handed to it. Bounds and
the values of aliases are functions of their own, which are called when someone asks for them (PEP 695).
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType
from typing import Any, Dict, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.assignments import store_together, store_variable
from depyf.decompiler.build.definitions import nested_body
from depyf.decompiler.build.effects import silent, take
from depyf.decompiler.build.expression_forms import as_expression, constant_of
from depyf.decompiler.build.loads import op_load_cell, op_load_from_mapping, op_load_local
from depyf.decompiler.build.operators import op_return, op_unsupported
from depyf.decompiler.build.region_walk import trampoline, walk
from depyf.decompiler.build.symbolic_frame import GENERIC_PARAMETERS, Frame, open_nested
from depyf.decompiler.build.symbolic_values import Fresh, FunctionValue, GenericBase, TypeParameterValue, Value
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured

_KINDS: Dict[str, Any] = {
    "TYPEVAR": s.TypeVar,
    "PARAMSPEC": s.ParamSpec,
    "TYPEVARTUPLE": s.TypeVarTuple,
    "TYPEVAR_WITH_BOUND": s.TypeVar,
    "TYPEVAR_WITH_CONSTRAINTS": s.TypeVar,
}


def type_parameters(code: CodeType) -> List[s.TypeParameter]:
    """Return the type parameters to show for a class of which only the body is known: those that it mentions."""
    if ".type_params" not in code.co_freevars:
        return []
    named = [name for name in code.co_freevars if name.isidentifier() and not name.startswith("__class")]
    return [s.TypeVar(name) for name in named or ["T"]]


def lazy_expression(frame: Frame, function: Value) -> s.Expression:
    """Return the expression that the function of a bound, a default or an alias computes."""
    if not isinstance(function, FunctionValue) or any(function.definition.parts[1:]):
        raise Unstructured("a type that is not computed by a function of its own")
    function.is_defined = True
    take(frame, function)
    return as_expression(nested_body(frame, function.definition.code, is_lazy=True))


def call_generic(frame: Frame, function: FunctionValue, arguments: Sequence[Value]) -> bool:
    """Push what a call of a hidden function makes; False if the function is not hidden."""
    code = function.definition.code
    if not code.co_name.startswith(GENERIC_PARAMETERS) or function.refs or len(arguments) != code.co_argcount:
        return False
    nodes = take(frame, *arguments, function)
    inner, tree = open_nested(frame, code)
    inner.generic.given = dict(zip(code.co_varnames[: code.co_argcount], nodes))
    trampoline(walk(inner, tree))
    value = inner.generic.made
    if value is None or inner.output.body or inner.stack.pending:
        raise Unstructured("type parameters of an unknown form")
    frame.stack.add_pending(value)
    frame.stack.push(value)
    return True


def op_load_given(frame: Frame, op: Op) -> None:
    """Execute LOAD_LOCAL."""
    if op.arg in frame.generic.given:
        silent(frame, frame.generic.given[op.arg])
    elif op.arg == ".generic_base":
        frame.stack.push(GenericBase(s.Constant(None), op.offset))
    else:
        op_load_local(frame, op)


def op_load_type_parameters(frame: Frame, op: Op) -> None:
    """Execute LOAD_CELL."""
    if op.arg == ".type_params":
        frame.stack.push(GenericBase(s.Constant(None), op.offset))
    else:
        op_load_cell(frame, op)


def op_load_parameters_from_mapping(frame: Frame, op: Op) -> None:
    """Execute LOAD_FROM_MAPPING_OR_CELL, LOAD_FROM_MAPPING_OR_GLOBAL: in a hidden function inside a class."""
    if op.arg == ".type_params":
        take(frame, frame.stack.pop())
        frame.stack.push(GenericBase(s.Constant(None), op.offset))
    else:
        op_load_from_mapping(frame, op)


def op_store_type_parameter(frame: Frame, op: Op) -> None:
    """Execute STORE_LOCAL, STORE_CELL."""
    stack = frame.stack
    if frame.upcoming.kind in STORES and store_together(frame):
        return
    value = stack.top()
    if isinstance(value, TypeParameterValue) and value.parameter.name == op.arg:
        stack.pop()
    elif op.arg == ".type_params" and value is not None:
        frame.generic.type_parameters = parameters_of(stack.pop())
    elif op.arg == ".generic_base" and isinstance(value, GenericBase):
        stack.pop()
    else:
        store_variable(frame, op)


def op_return_generic(frame: Frame, op: Op) -> None:
    """Execute RETURN."""
    value = frame.stack.top()
    if isinstance(value, FunctionValue):
        frame.stack.pop()
        value.is_defined = True
        take(frame, value, final=True)
        value.is_defined = False
        if value.definition.is_class:
            value.definition = replace(value.definition, type_parameters=frame.generic.type_parameters)
        frame.generic.made = value
    else:
        op_return(frame, op)


def op_intrinsic(frame: Frame, op: Op) -> None:
    """Execute INTRINSIC."""
    stack = frame.stack
    name, count = op.arg
    if name in _KINDS:
        arguments = stack.pop_many(count)
        parameter = _KINDS[name](constant_of(arguments[0]))
        if count == 2:
            parameter.bound = lazy_expression(frame, arguments[1])
        stack.push(TypeParameterValue(parameter, op.offset))
    elif name == "SET_TYPEPARAM_DEFAULT":
        value, default = stack.pop_many(2)
        if not isinstance(value, TypeParameterValue):
            raise Unstructured("a default of something that is no type parameter")
        value.parameter.default_value = lazy_expression(frame, default)
        stack.push(value)
    elif name == "SET_FUNCTION_TYPE_PARAMS":
        function, parameters = stack.pop_many(2)
        if not isinstance(function, FunctionValue) or function.refs:
            raise Unstructured("type parameters of something that is no function")
        function.definition = replace(function.definition, type_parameters=parameters_of(parameters))
        stack.push(function)
    elif name == "SUBSCRIPT_GENERIC" and isinstance(stack.values[-1], GenericBase):
        pass
    elif name == "TYPEALIAS":
        make_alias(frame, stack.pop(), op.offset)
    else:
        op_unsupported(frame, op)


def parameters_of(value: Value) -> List[s.TypeParameter]:
    """Return the type parameters in a tuple of them."""
    if not isinstance(value, Fresh) or value.refs:
        raise Unstructured("type parameters of an unknown form")
    found = [item.parameter for item in value.items if isinstance(item, TypeParameterValue)]
    if len(found) != len(value.items):
        raise Unstructured("type parameters of an unknown form")
    return found


def make_alias(frame: Frame, value: Value, offset: int) -> None:
    """Push `type X[T] = ...` of its name, its type parameters and the function that computes its value."""
    if not isinstance(value, Fresh) or len(value.items) != 3 or value.refs:
        raise Unstructured("a type alias of an unknown form")
    name, parameters, function = value.items
    for item in value.items:
        item.refs -= 1
    if not isinstance(function, FunctionValue) or constant_of(name) != function.definition.code.co_name:
        raise Unstructured("a type alias of an unknown form")
    node = lazy_expression(frame, function)
    generic = parameters_of(parameters) if isinstance(parameters, Fresh) else ()
    definition = replace(function.definition, type_parameters=generic, alias=node)
    alias = FunctionValue(definition, offset)
    frame.stack.add_pending(alias)
    frame.stack.push(alias)
