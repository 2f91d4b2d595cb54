"""Calls, with their arguments spread out."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.comprehension_frames import call_comprehension
from depyf.decompiler.build.constant_nodes import constant_node
from depyf.decompiler.build.definitions import build_class, decorate
from depyf.decompiler.build.effects import event, take
from depyf.decompiler.build.expression_forms import constant_items, constant_of, is_keyword, keyword_nodes, unstar
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import BuildClass, Fresh, FreshDict, FunctionValue, Null, Value
from depyf.decompiler.build.type_parameter_scopes import call_generic
from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.bytecode.microops import FROM_STACK, NULL_SECOND, PLAIN, Op


def op_call(frame: Frame, op: Op) -> None:
    """Execute CALL: `f(x, y=z)`."""
    argc, kwnames, layout = op.arg
    if kwnames is FROM_STACK:
        kwnames = constant_of(frame.stack.pop())
    arguments = frame.stack.pop_many(argc)
    callee = pop_callee(frame, layout, arguments)
    if isinstance(callee, FunctionValue):
        if call_comprehension(frame, callee, arguments) or call_generic(frame, callee, arguments):
            return
    if len(arguments) == 1 and isinstance(arguments[0], FunctionValue) and not kwnames:
        if decorate(frame, callee, arguments[0]):
            return
    if isinstance(callee, BuildClass):
        split = len(arguments) - len(kwnames or ())
        named = list(zip(kwnames or (), arguments[split:]))
        build_class(frame, [(value, False) for value in arguments[:split]], named)
        return
    nodes = take(frame, callee, *arguments)
    suggest_names(frame, nodes)
    names: Sequence[str] = kwnames or ()
    positional = nodes[1 : len(nodes) - len(names)]
    keywords = keyword_nodes(names, nodes[len(nodes) - len(names) :])
    event(frame, s.Call(nodes[0], positional, keywords))


def pop_callee(frame: Frame, layout: str, arguments: List[Value]) -> Value:
    """Pop the callable below its arguments; of a bound method's pair, `self` joins the arguments."""
    stack = frame.stack
    if layout is PLAIN:
        return stack.pop()
    second, first = stack.pop(), stack.pop()
    null, callee = (second, first) if layout is NULL_SECOND else (first, second)
    if isinstance(null, Null):
        return callee
    arguments.insert(0, second)
    return first


def op_call_ex(frame: Frame, op: Op) -> None:
    """Execute CALL_EX: `f(*args, **kwargs)`."""
    has_kwargs, layout = op.arg
    mapping = frame.stack.pop() if has_kwargs else None
    sequence = frame.stack.pop()
    callee = pop_callee(frame, layout, [])
    positional = spread_sequence(frame, sequence)
    named = spread_mapping(mapping)
    if isinstance(callee, BuildClass):
        build_class(frame, positional, named)
        return
    values = [callee, *(value for value, _ in positional), *(value for _, value in named)]
    nodes = take(frame, *values)
    split = 1 + len(positional)
    if not any(star for _, star in positional):
        suggest_names(frame, nodes[:split])
    args = [s.Starred(n) if star else n for n, (_, star) in zip(nodes[1:split], positional)]
    keywords = [s.keyword(name, n) for n, (name, _) in zip(nodes[split:], named)]
    event(frame, s.Call(nodes[0], [unstar(arg) for arg in args], keywords))


def spread_sequence(frame: Frame, sequence: Value) -> List[Any]:
    """Return (value, is starred) for each positional argument."""
    if isinstance(sequence, Fresh) and is_unpacked(sequence):
        return [(sequence, True)]
    if isinstance(sequence, Fresh) and sequence.name is None and sequence.refs == 0:
        for item in sequence.items:
            item.refs -= 1
        return [(item, False) for item in sequence.items]
    constant = constant_items(sequence)
    if constant is not None:
        return [(Value(constant_node(item, frame.scope.placeholders)), False) for item in constant]
    is_unpacked_tuple = isinstance(sequence.node, s.Tuple) and sequence.name is None and sequence.pending
    if is_unpacked_tuple and not facts_of(frame.scope.code).displays_unpack_at_once:
        assert isinstance(sequence.node, s.Tuple)
        elements = sequence.node.elts
        if len(elements) == 1 and isinstance(elements[0], s.Starred):
            sequence.node = elements[0]
            return [(sequence, False)]
    return [(sequence, True)]


def spread_mapping(mapping: Optional[Value]) -> List[Any]:
    """Return (name or None, value) for each keyword argument."""
    if mapping is None:
        return []
    if isinstance(mapping, FreshDict) and mapping.name is None and mapping.refs == 0:
        keys = mapping.keys
        if all(key is None or is_keyword(key) for key in keys):
            for item in mapping.items:
                item.refs -= 1
            return [(key and key.value, item) for key, item in zip(keys, mapping.items)]  # type: ignore[attr-defined]
    return [(None, mapping)]


def is_unpacked(sequence: Fresh) -> bool:
    """Return whether positional arguments were collected in a list, or in a tuple of one `*x`, before the call."""
    starred = [item for item in sequence.items if isinstance(item.node, s.Starred)]
    return bool(starred) and (sequence.kind == "list" or len(sequence.items) == 1)


def suggest_names(frame: Frame, call: Sequence[s.Expression]) -> None:
    """Record the parameter names of a known function for the temporaries that it is called with."""
    callee = call[0]
    if not isinstance(callee, s.Name):
        return
    for argument, parameter in zip(call[1:], frame.scope.settings.hints.get(callee.id, ())):
        if isinstance(argument, s.Name) and argument.id in frame.output.temporaries and not parameter.startswith("__"):
            frame.output.better_names.setdefault(argument.id, parameter)
