"""Calls, and what is made by calling: functions, classes, imports."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constants import constant_node
from depyf.decompiler.build.displays import Displays
from depyf.decompiler.build.forms import AssertionErrorName, constant_items, is_keyword, keyword_nodes, unstar
from depyf.decompiler.build.values import (
    BuildClass,
    Fresh,
    FreshDict,
    FunctionValue,
    ImportedName,
    ImportValue,
    Null,
    Value,
)
from depyf.decompiler.bytecode.microops import (
    ANNOTATIONS,
    CLOSURE,
    DEFAULTS,
    FROM_STACK,
    KWDEFAULTS,
    NULL_SECOND,
    PLAIN,
    Op,
)
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.decode.function_calls import FUNCTION_PARTS


class Calls(Displays):
    """Executes the micro-ops that call."""

    # -- calls

    def op_call(self, op: Op) -> None:
        argc, kwnames, layout = op.arg
        if kwnames is FROM_STACK:
            kwnames = self.constant(self.pop())
        arguments = self.pop_many(argc)
        callee = self.pop_callee(layout, arguments)
        if isinstance(callee, FunctionValue):
            if self.call_comprehension(callee, arguments) or self.call_hidden(callee, arguments):
                return
        if len(arguments) == 1 and isinstance(arguments[0], FunctionValue) and not kwnames:
            if self.decorate(callee, arguments[0]):
                return
        if isinstance(callee, BuildClass):
            split = len(arguments) - len(kwnames or ())
            named = list(zip(kwnames or (), arguments[split:]))
            self.build_class([(value, False) for value in arguments[:split]], named)
            return
        nodes = self.take(callee, *arguments)
        self.suggest_names(nodes)
        names: Sequence[str] = kwnames or ()
        positional = nodes[1 : len(nodes) - len(names)]
        keywords = keyword_nodes(names, nodes[len(nodes) - len(names) :])
        self.event(s.Call(nodes[0], positional, keywords))

    def pop_callee(self, layout: str, arguments: List[Value]) -> Value:
        """The callable below its arguments; with a bound method's pair, `self` joins the arguments."""
        if layout is PLAIN:
            return self.pop()
        second, first = self.pop(), self.pop()
        null, callee = (second, first) if layout is NULL_SECOND else (first, second)
        if isinstance(null, Null):
            return callee
        arguments.insert(0, second)
        return first

    def op_call_ex(self, op: Op) -> None:
        has_kwargs, layout = op.arg
        mapping = self.pop() if has_kwargs else None
        sequence = self.pop()
        callee = self.pop_callee(layout, [])
        positional = self.spread(sequence)
        named = self.spread_mapping(mapping)
        if isinstance(callee, BuildClass):
            self.build_class(positional, named)
            return
        values = [callee, *(value for value, _ in positional), *(value for _, value in named)]
        nodes = self.take(*values)
        split = 1 + len(positional)
        if not any(star for _, star in positional):
            self.suggest_names(nodes[:split])
        args = [s.Starred(n) if star else n for n, (_, star) in zip(nodes[1:split], positional)]
        keywords = [s.keyword(name, n) for n, (name, _) in zip(nodes[split:], named)]
        self.event(s.Call(nodes[0], [unstar(arg) for arg in args], keywords))

    def spread(self, sequence: Value) -> List[Any]:
        """(value, is starred) for each positional argument."""
        if isinstance(sequence, Fresh) and is_unpacked(sequence):
            return [(sequence, True)]
        if isinstance(sequence, Fresh) and sequence.name is None and sequence.refs == 0:
            for item in sequence.items:
                item.refs -= 1
            return [(item, False) for item in sequence.items]
        constant = constant_items(sequence)
        if constant is not None:
            return [(Value(constant_node(item, self.placeholders)), False) for item in constant]
        if isinstance(sequence.node, s.Tuple) and sequence.name is None and sequence.pending:
            elements = sequence.node.elts
            if len(elements) == 1 and isinstance(elements[0], s.Starred):
                sequence.node = elements[0]
                return [(sequence, False)]
        return [(sequence, True)]

    def spread_mapping(self, mapping: Optional[Value]) -> List[Any]:
        """(name or None, value) for each keyword argument."""
        if mapping is None:
            return []
        if isinstance(mapping, FreshDict) and mapping.name is None and mapping.refs == 0:
            keys = mapping.keys
            if all(key is None or is_keyword(key) for key in keys):
                for item in mapping.items:
                    item.refs -= 1
                return [(key and key.value, item) for key, item in zip(keys, mapping.items)]  # type: ignore[attr-defined]
        return [(None, mapping)]

    # -- functions, classes, imports

    def call_hidden(self, function: FunctionValue, arguments: Sequence[Value]) -> bool:
        """A call of the hidden function that makes type parameters."""
        raise NotImplementedError

    def build_class(self, arguments: Sequence[Any], named: Sequence[Any]) -> None:
        """A call of the function that makes classes."""
        raise NotImplementedError

    def op_make_function(self, op: Op) -> None:
        code = self.constant(self.pop())
        closure = self.pop() if op.arg & CLOSURE else None
        annotations = self.pop() if op.arg & ANNOTATIONS else None
        kwdefaults = self.pop() if op.arg & KWDEFAULTS else None
        defaults = self.pop() if op.arg & DEFAULTS else None
        if closure is not None and not self.is_own_closure(closure, code):
            self.call_function_type(closure, code, (annotations, kwdefaults, defaults))
            return
        self.make_function(code, defaults, kwdefaults, annotations)

    def call_function_type(self, closure: Value, code: CodeType, others: Sequence[Optional[Value]]) -> None:
        """A function over cells that are not variables here (decode/function_calls.py)."""
        if any(value is not None for value in others):
            raise Unstructured("a function with defaults over cells of another function")
        (cells,) = self.take(closure)
        make, of_frame = self.placeholders.node(FunctionType), s.Call(self.placeholders.node(globals), [])
        parts = (cells, self.placeholders.node(code), of_frame)
        self.event(s.Call(make, [], [s.keyword(name, part) for name, part in zip(FUNCTION_PARTS, parts)]))

    def op_load_assertion_error(self, op: Op) -> None:
        self.silent(AssertionErrorName("AssertionError"))

    def op_import_name(self, op: Op) -> None:
        names = self.pop()
        fromlist = () if isinstance(names, Fresh) and not names.items else self.constant(names)
        level = self.constant(self.pop())
        self.flush()
        if fromlist == ():
            self.import_for_use(op, level)
        else:
            self.push(ImportValue(op.arg, level, fromlist, op.offset))

    def import_for_use(self, op: Op, level: int) -> None:
        """Emit the import that Dynamo puts where it reads a module: its fromlist is an empty tuple."""
        if level or "." in op.arg:
            raise Unstructured("a module inside a package that is imported for its package")
        value = Value(s.Name(op.arg), op.offset)
        value.name = self.new_name(value.node)
        statement = s.Import([s.alias(op.arg, value.name)])
        statement.origin = op.offset
        self.out.append(statement)
        self.push(value)

    def op_import_from(self, op: Op) -> None:
        source = self.values[-1]
        if isinstance(source, ImportedName):
            source = source.source
        if not isinstance(source, ImportValue):
            raise Unstructured("IMPORT_FROM of something that was not just imported")
        self.push(ImportedName(source, op.arg, op.offset))

    def op_import_star(self, op: Op) -> None:
        value = self.pop()
        if not isinstance(value, ImportValue):
            raise Unstructured("IMPORT_STAR of something that was not just imported")
        value.aliases.append(s.alias("*"))
        self.finish_import(value)


def is_unpacked(sequence: Fresh) -> bool:
    """Whether positional arguments were put together in a list, or a tuple of one `*x`, before they were unpacked."""
    starred = [item for item in sequence.items if isinstance(item.node, s.Starred)]
    return bool(starred) and (sequence.kind == "list" or len(sequence.items) == 1)
