"""Functions and classes that are made here: `def`, `lambda`, `class`, decorators.

A function is a value until its use decides what it is: stored under its own name it is a `def`, handed to
LOAD_BUILD_CLASS's function it is the body of a `class`, handed to another call and then stored it is decorated.
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, List, Optional, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import emit, event, take
from depyf.decompiler.build.expression_forms import as_expression, constant_of
from depyf.decompiler.build.function_bodies import function_body, written_statements
from depyf.decompiler.build.parameter_lists import annotation, parameters
from depyf.decompiler.build.private_names import mangled
from depyf.decompiler.build.symbolic_frame import Frame, open_nested
from depyf.decompiler.build.symbolic_values import (
    BuildClass,
    Cell,
    Definition,
    Fresh,
    FunctionValue,
    GenericBase,
    Value,
)
from depyf.decompiler.bytecode.code_flags import ASYNC_FUNCTIONS, CO_OPTIMIZED
from depyf.decompiler.bytecode.microops import ANNOTATE, ANNOTATIONS, CLOSURE, DEFAULTS, KWDEFAULTS, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.decode.function_type_calls import FUNCTION_PARTS
from depyf.decompiler.syntax.identifiers import shown_name, spelled


def is_own_closure(closure: Value, code: CodeType) -> bool:
    """Return whether the cells handed to a function are those of the variables here that have the same names."""
    if not isinstance(closure, Fresh) or closure.name is not None:
        return False
    cells = [item.variable if isinstance(item, Cell) else None for item in closure.items]
    return cells == [spelled(name) for name in code.co_freevars]


def op_make_function(frame: Frame, op: Op) -> None:
    """Execute MAKE_FUNCTION."""
    stack = frame.stack
    code = constant_of(stack.pop())
    closure = stack.pop() if op.arg & CLOSURE else None
    annotations = stack.pop() if op.arg & (ANNOTATIONS | ANNOTATE) else None
    if annotations is not None and op.arg & ANNOTATE:
        annotations = computed_annotations(frame, annotations)
    kwdefaults = stack.pop() if op.arg & KWDEFAULTS else None
    defaults = stack.pop() if op.arg & DEFAULTS else None
    if closure is not None and not is_own_closure(closure, code):
        call_function_type(frame, closure, code, (annotations, kwdefaults, defaults))
        return
    make_function(frame, code, defaults, kwdefaults, annotations)


def computed_annotations(frame: Frame, function: Value) -> Value:
    """Return the annotations that a function of their own computes as the tuple of names and values that others get."""
    if not isinstance(function, FunctionValue) or function.refs or any(function.definition.parts):
        raise Unstructured("annotations that are not computed by a function of their own")
    function.is_defined = True
    take(frame, function)
    node = as_expression(nested_body(frame, function.definition.code, is_lazy=True))
    if not isinstance(node, s.Dict):
        raise Unstructured("annotations of an unknown form")
    return Value(s.Tuple([part for pair in zip(node.keys, node.values) for part in pair if part is not None]))


def call_function_type(frame: Frame, closure: Value, code: CodeType, others: Sequence[Optional[Value]]) -> None:
    """Push a function over cells that are not variables here (decode/function_type_calls.py)."""
    scope = frame.scope
    if any(value is not None for value in others):
        raise Unstructured("a function with defaults over cells of another function")
    (cells,) = take(frame, closure)
    make, of_frame = scope.placeholders.node(FunctionType), s.Call(scope.placeholders.node(globals), [])
    parts = (cells, scope.placeholders.node(code), of_frame)
    event(frame, s.Call(make, [], [s.keyword(name, part) for name, part in zip(FUNCTION_PARTS, parts)]))


def make_function(
    frame: Frame, code: CodeType, defaults: Optional[Value], kwdefaults: Optional[Value], annotations: Optional[Value]
) -> None:
    """Push a function: its defaults and annotations are computed now, its text is decided when it is used."""
    stack = frame.stack
    given = [value for value in (defaults, kwdefaults, annotations) if value is not None]
    nodes = iter(take(frame, *given))
    parts = [next(nodes) if value is not None else None for value in (defaults, kwdefaults, annotations)]
    value = FunctionValue(Definition(code, parts), frame.output.offset)
    value.kills = stack.take_killed()
    if code.co_name == "<lambda>":
        value.node = s.Lambda(parameters(code, parts), as_expression(nested_body(frame, code)))
    stack.add_pending(value)
    stack.push(value)


def statement_of(frame: Frame, made: Definition, name: str) -> s.Statement:
    """Return the `def`, `class` or `type` statement of a definition."""
    code, parts, generic = made.code, made.parts, made.type_parameters
    if made.alias is not None:
        return s.TypeAlias(s.Name(name), generic, made.alias)
    body = nested_body(frame, code) or [s.Pass()]
    if made.bases is not None:
        return s.ClassDef(name, made.bases, made.keywords, body, made.decorators, generic)

    def write(node: s.Expression) -> s.Expression:
        return annotation_node(frame, node)

    make = s.AsyncFunctionDef if code.co_flags & ASYNC_FUNCTIONS else s.FunctionDef
    returns = annotation(parts[2], "return", write)
    return make(name, parameters(code, parts, write), body, made.decorators, returns, generic)


def annotation_node(frame: Frame, node: s.Expression) -> s.Expression:
    """Return the expression to write for the value of an annotation."""
    if not frame.scope.settings.annotations_are_strings:
        return node
    if not isinstance(node, s.Constant) or not isinstance(node.value, str):
        raise Unstructured("an annotation that is not text")
    return s.Name(node.value)  # the text itself


def define_function(frame: Frame, value: FunctionValue, name: str) -> bool:
    """Write the `def` or `class` statement of a value stored under `name`; False if that is not its name."""
    code = value.definition.code
    if code.co_name.startswith("<") or mangled(code.co_name, frame.scope.class_name) != name:
        return False
    if not code.co_flags & CO_OPTIMIZED and not value.definition.is_class:
        return False
    value.is_defined = True
    take(frame, value, final=True)
    emit(frame, statement_of(frame, value.definition, code.co_name if frame.scope.is_in_class else name))
    return True


def write_definition(frame: Frame, value: FunctionValue) -> bool:
    """Write the definition of a function that is used, but not stored; False if the name it would bind is taken."""
    output = frame.output
    if not value.definition.needs_statement:
        return False
    name = shown_name(value.definition.code.co_name)
    if name in output.names.taken and not is_unused_name(frame, name):
        return False
    output.names.taken.add(name)
    output.temporaries[name] = None
    value.name = name
    statement = statement_of(frame, value.definition, name)
    statement.origin = value.offset
    output.body.append(statement)
    return True


def is_unused_name(frame: Frame, name: str) -> bool:
    """Return whether a name was given to a function on another path, and no value on the stack has it."""
    return name in frame.output.temporaries and all(value.name != name for value in frame.stack.all_values())


def decorate(frame: Frame, decorator: Value, function: FunctionValue) -> bool:
    """Push the function with `@decorator` before its `def`; False if only a call can apply it."""
    if not function.definition.needs_statement or function.refs or function.name is not None:
        return False
    function.is_defined = True
    nodes = take(frame, decorator, function)
    decorated = function.clone()
    assert isinstance(decorated, FunctionValue)
    decorators = [nodes[0], *function.definition.decorators]
    decorated.definition = replace(function.definition, decorators=decorators)
    decorated.is_defined = False
    frame.stack.add_pending(decorated)
    frame.stack.push(decorated)
    return True


def build_class(
    frame: Frame, arguments: Sequence[Tuple[Value, bool]], named: Sequence[Tuple[Optional[str], Value]]
) -> None:
    """Push the class that LOAD_BUILD_CLASS's function makes of a body, a name, (base, is starred)s and keywords."""
    if len(arguments) < 2:
        raise Unstructured("a class without a body or a name")
    body, name = arguments[0][0], arguments[1][0]
    if not isinstance(body, FunctionValue) or body.refs or body.name is not None:
        raise Unstructured("a class whose body is not a function made for it")
    code = body.definition.code
    if constant_of(name) != code.co_name or code.co_flags & CO_OPTIMIZED:
        raise Unstructured("a class that does not have the name of its body")
    body.is_defined = True
    bases = [base for base in arguments[2:] if not isinstance(base[0], GenericBase)]
    nodes = take(frame, body, *(value for value, _ in bases), *(value for _, value in named))
    split = 1 + len(bases)
    definition = Definition(
        code,
        body.definition.parts,
        bases=[starred(node) if star else node for node, (_, star) in zip(nodes[1:split], bases)],
        keywords=[s.keyword(key, node) for node, (key, _) in zip(nodes[split:], named)],
    )
    frame.stack.push_pending(FunctionValue(definition, frame.output.offset))


def op_load_build_class(frame: Frame, op: Any) -> None:
    """Execute LOAD_BUILD_CLASS."""
    frame.stack.push(BuildClass(s.Constant(None), op.offset))


def starred(node: s.Expression) -> s.Expression:
    """Return `*node`."""
    return node if isinstance(node, s.Starred) else s.Starred(node)


def nested_body(frame: Frame, code: CodeType, is_lazy: bool = False) -> List[s.Statement]:
    """Return the statements of a nested code object; a lazy one only computes a value and has no docstring."""
    scope = frame.scope
    if code in scope.settings.listings:
        texts = [s.Expr(s.Constant(text)) for text in scope.settings.listings[code]]
        free = [spelled(name) for name in code.co_freevars]
        return [texts[0], *([s.Nonlocal(free)] if free else []), *texts[1:]]
    inner, tree = open_nested(frame, code)
    return written_statements(inner, tree) if is_lazy else function_body(inner, tree, is_nested=True)
