"""What each micro-op does to the symbolic stack. One method an op; control flow is in `statements`."""

from __future__ import annotations

import keyword
import re
from typing import Any, Callable, Dict, List, Optional, Sequence

from .. import syntax as s
from ..flow import Both, Choice, Simple, Test
from ..microops import ANNOTATIONS, CLOSURE, DEFAULTS, FROM_STACK, KWDEFAULTS, NULL_SECOND, PLAIN, Op
from ..undo import Unstructured
from .constants import constant_node
from .names import Names
from .stack import Stack
from .targets import Targets
from .values import (
    BuildClass,
    Cell,
    Fresh,
    FreshDict,
    FunctionValue,
    ImportedName,
    ImportValue,
    Marker,
    Null,
    SliceParts,
    Slot,
    Value,
)

CONVERSION_CODES = {"": -1, "s": 115, "r": 114, "a": 97}


class Ops(Targets):
    """Executes straight-line micro-ops."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self.methods: Dict[str, Callable[[Op], None]] = {kind: getattr(self, name) for kind, name in METHODS.items()}

    def run_ops(self, ops: Sequence[Op]) -> None:
        """Execute ops one after the other."""
        methods = self.methods
        count = len(ops)
        position = 0
        while position < count:
            op = ops[position]
            self.offset = op.offset
            if op.kind in STORE_KINDS and position + 1 < count and ops[position + 1].kind in STORE_KINDS:
                done = self.store_together(ops, position)
                if done:
                    position += done
                    continue
            if op.kind == "SWAP" and self.unpack_swapped(ops, position):
                position += 1
                continue
            position += 1
            self.following = ops[position].kind if position < count else ""
            self.upcoming = ops, position
            methods[op.kind](op)

    # -- stack juggling

    def op_pop(self, op: Op) -> None:
        value = self.pop()
        if isinstance(value, ImportValue) and value.refs == 0:
            self.finish_import(value)
        elif isinstance(value, Slot) and value.name is None:
            self.store_target(value, self.overwritten_target())
        elif isinstance(value, (Marker, Null)):
            pass
        elif value.refs == 0 and value.targets and value.name is None:
            self.finish_targets(value)
        elif value.refs == 0 and value.pending and value.name is None and self.pending[-1] is value:
            self.emit(s.Expr(self.take(value, final=True)[0]))
        else:
            self.discard(value)

    def overwritten_target(self) -> Optional[s.Expression]:
        """`a, _, _ = x`: a store that another one to the same local follows is a POP."""
        ops, position = self.upcoming
        while position < len(ops) and ops[position].kind == "POP":
            position += 1
        if position == len(ops) or ops[position].kind != "STORE_LOCAL" or not isinstance(self.values[-1], Slot):
            return None
        return s.Name(self.variable(ops[position].arg))

    def op_copy(self, op: Op) -> None:
        if op.arg > len(self.values):
            raise Unstructured("COPY reaches below the stack")
        self.push(self.values[-op.arg])

    def op_swap(self, op: Op) -> None:
        values = self.values
        if op.arg > len(values):
            raise Unstructured("SWAP reaches below the stack")
        values[-1], values[-op.arg] = values[-op.arg], values[-1]

    def op_push_null(self, op: Op) -> None:
        self.push(Null(s.Constant(None)))

    def op_const(self, op: Op) -> None:
        self.silent(constant_node(op.arg, self.placeholders))

    # -- variables

    def op_load_local(self, op: Op) -> None:
        self.silent(s.Name(self.variable(op.arg)))

    def op_load_cell(self, op: Op) -> None:
        node = s.Name(self.variable(op.arg))
        if self.is_private_cell(op.arg):
            self.silent(node)
        else:
            self.event(node)

    def op_load_closure(self, op: Op) -> None:
        self.push(Cell(self.variable(op.arg)))

    def op_load_global(self, op: Op) -> None:
        name = self.global_name(op.arg)
        if self.is_constant_global(op.arg):
            self.silent(s.Name(name))
        else:
            self.event(s.Name(name))

    def op_delete_variable(self, op: Op) -> None:
        name = self.global_name(op.arg) if "GLOBAL" in op.kind else self.variable(op.arg)
        self.declare(op)
        self.before_rebinding(name)
        self.emit(s.Delete([s.Name(name)]))

    # -- attributes and items

    def op_load_attr(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(s.Attribute(node, op.arg))

    def op_load_super_attr(self, op: Op) -> None:
        name, zero_argument = op.arg
        values = self.pop_many(3)
        nodes = self.take(*values)
        call = s.Call(nodes[0], [] if zero_argument else nodes[1:])
        self.event(s.Attribute(call, name))

    def op_delete_attr(self, op: Op) -> None:
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Delete([s.Attribute(node, op.arg)]))

    def op_subscr(self, op: Op) -> None:
        container, key = self.pop_many(2)
        if self.fold_subscript(container, key):
            return
        if isinstance(key, Fresh) and key.kind == "tuple" and key.refs == 1 and key.name is None:
            key = self.settle(key)
        nodes = self.take(container, key)
        self.event(s.Subscript(nodes[0], as_index(nodes[1])))

    def op_delete_subscr(self, op: Op) -> None:
        container, key = self.pop_many(2)
        if self.fold_delete(container, key):
            return
        nodes = self.take(container, key, final=True)
        self.emit(s.Delete([s.Subscript(nodes[0], as_index(nodes[1]))]))

    # -- operators

    def op_unary(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(s.UnaryOp(op.arg, node))

    def op_binary(self, op: Op) -> None:
        left, right = self.take(*self.pop_many(2))
        if op.arg == "%" and would_be_fstring(left, right):
            left = s.JoinedStr([left])
        self.event(s.BinOp(left, op.arg, right))

    def op_inplace(self, op: Op) -> None:
        left, right = self.take(*self.pop_many(2))
        self.event(Inplace(left, op.arg, right))

    def op_compare(self, op: Op) -> None:
        self._compare(op.arg)

    def op_is(self, op: Op) -> None:
        self._compare("is not" if op.arg else "is")

    def op_contains(self, op: Op) -> None:
        self._compare("not in" if op.arg else "in")

    def _compare(self, operator: str) -> None:
        values = self.pop_many(2)
        last = values[1].node
        right: s.Expression
        if operator in ("in", "not in") and isinstance(last, s.Constant) and type(last.value) is frozenset:
            (left,), right = self.take(values[0]), last  # the compiler turns `in {1, 2}` into this
        else:
            left, right = self.take(*values)
        self.event(s.Compare(left, [operator], [right]))

    def op_to_bool(self, op: Op) -> None:
        value = self.pop()
        if isinstance(value.node, s.UnaryOp) and value.node.op == "not":
            self.push(value)
            return
        (node,) = self.take(value)
        self.event(s.UnaryOp("not", s.UnaryOp("not", node)))

    def op_chain(self, op: Op) -> None:
        operator, rest = op.arg
        left, right = self.take(*self.pop_many(2))
        operators, operands = [operator], [right]
        for ops, next_operator in reversed(rest):
            operands.append(self.nested(ops))
            operators.append(next_operator)
        self.event(s.Compare(left, operators, operands))

    def op_bool(self, op: Op) -> None:
        operator, test, rest = op.arg
        first = self.test(test)
        self.event(bool_op(operator, [first, *(self.nested(ops) for ops in reversed(rest))]))

    def op_select(self, op: Op) -> None:
        test, then, orelse = op.arg
        node = self.test(test)
        self.event(s.IfExp(node, self.nested(then), self.nested(orelse)))

    # -- tests

    def test(self, test: Test) -> s.Expression:
        """The expression for a test whose first operand is on the stack."""
        if isinstance(test, Simple):
            (node,) = self.take(self.pop())
            if test.kind == "none":
                return s.Compare(node, ["is not" if test.negate else "is"], [s.Constant(None)])
            if test.negate and isinstance(node, s.Compare) and flips(node):
                return Flipped(node.left, negate(node).ops, node.comparators)  # type: ignore[attr-defined]
            return negate(node) if test.negate else node
        node = self.test(test.first)
        if isinstance(test, Both):
            values = [node, *(self.nested_test(ops, inner) for ops, inner in reversed(test.rest))]
            node = bool_op(test.op, values)
        else:
            assert isinstance(test, Choice)
            node = s.IfExp(node, self.nested_test(*test.then), self.nested_test(*test.orelse))
        return negate(node) if test.negate else node

    def nested(self, ops: Sequence[Op]) -> s.Expression:
        """An expression that is computed only on some paths: nothing may be written for it."""
        return self.isolated(ops, lambda: self.take(self.pop())[0])

    def nested_test(self, ops: Sequence[Op], test: Test) -> s.Expression:
        """A test that is computed only on some paths."""
        return self.isolated(ops, lambda: self.test(test))

    def isolated(self, ops: Sequence[Op], finish: Callable[[], s.Expression]) -> s.Expression:
        """Run ops that must come out as one expression."""
        pending, self.pending = self.pending, []
        killed, self.killed = self.killed, []
        out, self.out = self.out, []
        depth = len(self.values)
        self.run_ops(ops)
        node = finish()
        if self.out or self.pending or self.killed or len(self.values) != depth:
            raise Unstructured("an operand needs statements")
        self.pending, self.killed, self.out = pending, killed, out
        return node

    # -- displays

    def op_build_sequence(self, op: Op) -> None:
        items = self.pop_many(op.arg)
        for item in items:
            item.refs += 1
        self.push(Fresh("list" if op.kind == "BUILD_LIST" else "tuple", items, op.offset))

    def op_build_set(self, op: Op) -> None:
        items = self.pop_many(op.arg)
        elements = self.take(*items) if items else [s.Starred(s.Tuple([]))]
        if len(elements) > 2 and all(isinstance(element, s.Constant) for element in elements):
            # The compiler would make a frozenset of these, which may iterate in another order.
            elements[-1] = s.Starred(s.Tuple([elements[-1]]))
        self.event(s.Set(elements))

    def op_build_map(self, op: Op) -> None:
        values = self.pop_many(2 * op.arg)
        keys = values[0::2]
        if all(is_plain(key) for key in keys):
            items = values[1::2]
            for item in items:
                item.refs += 1
            self.push(FreshDict([key.node for key in keys], items, op.offset))
            return
        nodes = self.take(*values)
        self.event(s.Dict(nodes[0::2], nodes[1::2]))

    def op_build_const_key_map(self, op: Op) -> None:
        keys = self.constant(self.pop())
        items = self.pop_many(op.arg)
        for item in items:
            item.refs += 1
        nodes: List[Optional[s.Expression]] = [constant_node(key, self.placeholders) for key in keys]
        self.push(FreshDict(nodes, items, op.offset))

    def op_build_slice(self, op: Op) -> None:
        values = self.pop_many(op.arg)
        if all(is_plain(value) for value in values):
            nodes = [value.node for value in values]
            self.silent(s.Slice(*(none_if_none(node) for node in nodes)))
            return
        if self.following == "STORE_SUBSCR":
            self.push(SliceParts(values, op.offset))
            return
        nodes = self.take(*values)
        self.event(s.Slice(*(none_if_none(node) for node in nodes)))

    def op_build_string(self, op: Op) -> None:
        nodes = self.take(*self.pop_many(op.arg))
        self.event(s.JoinedStr([part for node in nodes for part in string_parts(node)]))

    def op_convert(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(s.FormattedValue(node, CONVERSION_CODES[op.arg]))

    def op_format(self, op: Op) -> None:
        conversion, has_spec = op.arg
        values = self.pop_many(1 + has_spec)
        nodes = self.take(*values)
        spec = as_spec(nodes[1]) if has_spec else None
        code = CONVERSION_CODES[conversion]
        node: s.Expression = nodes[0]
        if isinstance(node, s.FormattedValue) and code < 0:
            code, node = node.conversion, node.value
        self.event(s.JoinedStr([s.FormattedValue(node, code, spec)]))

    def op_list_to_tuple(self, op: Op) -> None:
        value = self.pop()
        if isinstance(value, Fresh) and value.name is None and value.refs == 0:
            value.kind = "tuple"
            self.push(value)
            return
        (node,) = self.take(value)
        self.event(s.Tuple([s.Starred(node)]))

    def op_list_extend(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if not isinstance(target, Fresh) or target.name is not None:
            self.mutate(target, "extend", value)
            return
        if isinstance(value, Fresh) and value.name is None:
            added = list(value.items)
            for item in added:
                item.refs += 1
            target.items.extend(added)
            self.discard(value)
            return
        constant = constant_items(value)
        if constant is not None:
            for item in constant:
                entry = Value(constant_node(item, self.placeholders), op.offset)
                entry.refs = 1
                target.items.append(entry)
            return
        (node,) = self.take(value)
        starred = Value(s.Starred(node), op.offset)
        self.add_pending(starred)
        starred.refs = 1
        target.items.append(starred)

    def op_list_append(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if isinstance(target, Fresh) and target.name is None:
            value.refs += 1
            target.items.append(value)
            return
        self.mutate(target, "append", value)

    def op_set_add(self, op: Op) -> None:
        value = self.pop()
        self.mutate(self.values[-op.arg], "add", value)

    def op_set_update(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        node = target.node
        constant = constant_items(value)
        if target.pending and target.refs == 1 and self.pending[-1:] == [target] and _is_set(node):
            if constant is not None:
                added = [constant_node(item, self.placeholders) for item in constant]
                target.node = s.Set([*_elements(node), *added])
                return
        if target.refs == 1 and target.pending and _is_set(node):
            self.values[-op.arg] = merged = Value(node, target.offset)
            target.refs -= 1
            first, second = self.take(target, value)
            merged.node = s.Set([*_elements(first), s.Starred(second)])
            merged.refs = 1
            self.add_pending(merged)
            return
        self.mutate(target, "update", value)

    def op_dict_update(self, op: Op) -> None:
        value = self.pop()
        target = self.values[-op.arg]
        if isinstance(target, FreshDict) and target.name is None:
            can_merge = isinstance(value, FreshDict) and (op.kind == "DICT_UPDATE" or None not in value.keys)
            if isinstance(value, FreshDict) and can_merge and value.name is None and value.refs == 0:
                target.keys.extend(value.keys)
                target.items.extend(value.items)
                return
            (node,) = self.take(value)
            entry = Value(node, op.offset)
            self.add_pending(entry)
            entry.refs = 1
            target.keys.append(None)
            target.items.append(entry)
            return
        if isinstance(target.node, s.Dict) and target.pending and target.refs == 1 and target.name is None:
            self.values[-op.arg] = merged = Value(target.node, op.offset)
            target.refs -= 1
            first, second = self.take(target, value)
            assert isinstance(first, s.Dict)
            merged.node = s.Dict([*first.keys, None], [*first.values, second])
            merged.refs = 1
            self.add_pending(merged)
            return
        self.mutate(target, "update", value)

    def op_map_add(self, op: Op) -> None:
        key, value = self.pop_many(2)
        target = self.values[-op.arg]
        if not isinstance(target, FreshDict) or target.name is not None:
            raise Unstructured("MAP_ADD on a dict that is in use")
        key_node, value_node = self.take(key, value)
        entry = Value(value_node, op.offset)
        self.add_pending(entry)
        entry.refs = 1
        target.keys.append(key_node)
        target.items.append(entry)

    def mutate(self, target: Value, method: str, value: Value) -> None:
        raise Unstructured(f"a container in use is changed by {method}")

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
        self.event(s.Call(nodes[0], [_unstar(arg) for arg in args], keywords))

    def spread(self, sequence: Value) -> List[Any]:
        """(value, is starred) for each positional argument."""
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
            if all(key is None or _is_keyword(key) for key in keys):
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
        if closure is not None:
            self.check_closure(closure, code)
        self.make_function(code, defaults, kwdefaults, annotations)

    def op_load_assertion_error(self, op: Op) -> None:
        self.silent(AssertionErrorName("AssertionError"))

    def op_import_name(self, op: Op) -> None:
        fromlist = self.constant(self.pop())
        level = self.constant(self.pop())
        value = ImportValue(op.arg, level, fromlist, op.offset)
        self.flush()
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

    # -- iteration and generators

    def op_get_iter(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(IterOf(node))

    def op_get_aiter(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(AiterOf(node))

    def op_get_yield_from_iter(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(s.YieldFrom(node))

    def op_get_awaitable(self, op: Op) -> None:
        if is_entered(self.values[-1]):
            return
        (node,) = self.take(self.pop())
        self.event(node.comprehension if isinstance(node, CoroutineComprehension) else s.Await(node))

    def op_yield_from(self, op: Op) -> None:
        self.pop()
        waiting = self.values[-1]
        if is_entered(waiting):
            return
        if not isinstance(waiting.node, (s.Await, s.YieldFrom, s.ListComp, s.SetComp, s.DictComp)):
            raise Unstructured("a send loop over something that is not awaited")

    def op_yield(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(s.Yield(None if is_none(node) else node))

    # -- ends and exceptions

    def op_return(self, op: Op) -> None:
        (node,) = self.take(self.pop(), final=True)
        self.emit(s.Return(None if is_none(node) else node))

    def op_raise(self, op: Op) -> None:
        nodes = self.take(*self.pop_many(op.arg), final=True)
        self.emit(s.Raise(*nodes))

    def op_reraise(self, op: Op) -> None:
        if not isinstance(self.pop(), Marker):
            raise Unstructured("RERAISE of something that was not caught")

    def op_nowhere(self, op: Op) -> None:
        """A place that is never reached: what is on the stack is dropped."""
        while self.values:
            value = self.pop()
            if not isinstance(value, (Marker, Null)):
                self.discard(value)
        self.flush()

    def op_pop_except(self, op: Op) -> None:
        if not isinstance(self.pop(), Marker):
            raise Unstructured("POP_EXCEPT without an exception")

    def op_before_with(self, op: Op) -> None:
        (node,) = self.take(self.pop(), final=True)
        self.flush()
        self.open_with(node, "with" if op.kind == "BEFORE_WITH" else "async with")

    def op_comprehension(self, op: Op) -> None:
        raise NotImplementedError

    def op_unsupported(self, op: Op) -> None:
        raise Unstructured(f"{op.kind} is not supported yet")

    # -- helpers

    def constant(self, value: Value) -> Any:
        """The constant that was pushed."""
        if isinstance(value.node, s.Constant) and not value.pending and value.items is None:
            return value.node.value
        if isinstance(value.node, s.Placeholder):
            return value.node.value
        raise Unstructured("a constant was expected on the stack")


class Inplace(s.BinOp):
    """`left op= right` before it is known where the result goes."""

    __slots__ = ()


class Flipped(s.Compare):
    """An `is` or `in` test whose operator is the opposite of the one in the code: the other way out was asked for."""

    __slots__ = ()


class IterOf(s.Call):
    """`iter(x)` made by GET_ITER: only loops and comprehensions can say it."""

    __slots__ = ()

    def __init__(self, node: s.Expression) -> None:
        super().__init__(s.Name("iter"), [node])


class AiterOf(s.Call):
    """`aiter(x)` made by GET_AITER: only async loops and comprehensions can say it."""

    __slots__ = ()

    def __init__(self, node: s.Expression) -> None:
        super().__init__(s.Name("aiter"), [node])


class CoroutineComprehension(s.Expression):
    """The coroutine that runs an async comprehension: only awaiting it can be said, by the comprehension itself."""

    __slots__ = ("comprehension",)

    def __init__(self, comprehension: s.Expression) -> None:
        self.comprehension = comprehension


class AssertionErrorName(s.Name):
    """The AssertionError of an assert statement, whatever the global of that name is."""

    __slots__ = ()


def is_entered(value: Value) -> bool:
    """Whether a value is what an `async with` has entered and awaits."""
    return isinstance(value, Slot) and value.pattern.source == "async with"


def keyword_nodes(names: Sequence[str], nodes: Sequence[s.Expression]) -> List[s.keyword]:
    """Keyword arguments; names that are reserved words, or no names at all, go in by `**`."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return [s.keyword(name, node) for name, node in zip(names, nodes)]
    return [s.keyword(None, s.Dict([s.Constant(name) for name in names], list(nodes)))]


_SIMPLE_FORMAT = re.compile(r"(?:[^%]|%%|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[sra])*")


def would_be_fstring(left: s.Expression, right: s.Expression) -> bool:
    """Whether the compiler would make an f-string of `left % right`, as it does (from 3.11 on) if left is a literal."""
    if not isinstance(left, s.Constant) or not isinstance(left.value, str) or not isinstance(right, s.Tuple):
        return False
    if any(isinstance(item, s.Starred) for item in right.elts):
        return False
    return _SIMPLE_FORMAT.fullmatch(left.value) is not None


def bool_op(operator: str, values: List[s.Expression]) -> s.BoolOp:
    """`a and b`, with a chain of the same operator at the end joined in."""
    last = values[-1]
    if isinstance(last, s.BoolOp) and last.op == operator:
        return s.BoolOp(operator, [*values[:-1], *last.values])
    return s.BoolOp(operator, values)


def negate(node: s.Expression) -> s.Expression:
    """`not node`, without a double negation."""
    if isinstance(node, s.UnaryOp) and node.op == "not":
        return node.operand
    if isinstance(node, s.Compare) and len(node.ops) == 1 and node.ops[0] in ("is", "is not", "in", "not in"):
        flipped = {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}[node.ops[0]]
        return s.Compare(node.left, [flipped], node.comparators)
    if isinstance(node, s.BoolOp):
        if flips(node):
            return s.UnaryOp("not", node)
        opposites = [negate(value) for value in node.values]
        added = sum(isinstance(value, s.UnaryOp) and value.op == "not" for value in opposites)
        removed = sum(isinstance(value, s.UnaryOp) and value.op == "not" for value in node.values)
        if added <= removed:
            return s.BoolOp("or" if node.op == "and" else "and", opposites)
    return s.UnaryOp("not", node)


def flips(node: s.Expression) -> bool:
    """Whether `negate` would change the operator of an `is` or `in` test, which makes another instruction."""
    if isinstance(node, s.BoolOp):
        return any(flips(value) for value in node.values)
    if not isinstance(node, s.Compare) or len(node.ops) != 1 or is_none(node.comparators[0]):
        return False
    return node.ops[0] in ("is", "is not", "in", "not in")


def is_none(node: s.Expression) -> bool:
    """Whether an expression is the constant None."""
    return isinstance(node, s.Constant) and node.value is None


def none_if_none(node: s.Expression) -> Optional[s.Expression]:
    """For a slice: `x[None:1]` is `x[:1]`."""
    return None if is_none(node) else node


def is_plain(value: Value) -> bool:
    """A constant or a name: silent, and the same wherever it is written."""
    return not value.pending and value.name is None and isinstance(value.node, s.Constant) and value.items is None


def as_index(node: s.Expression) -> s.Expression:
    """What stands between the brackets."""
    return node


def as_spec(node: s.Expression) -> s.Expression:
    """A format spec: a joined string."""
    if isinstance(node, s.JoinedStr):
        return node
    if isinstance(node, s.Constant) and isinstance(node.value, str):
        return s.JoinedStr([node])
    return s.JoinedStr([s.FormattedValue(node)])


def string_parts(node: s.Expression) -> Sequence[s.Expression]:
    """The parts that a piece gives to an f-string."""
    if isinstance(node, s.JoinedStr):
        return node.values
    if isinstance(node, s.Constant):
        return [node]
    raise Unstructured("BUILD_STRING of something that is not a string")


def constant_items(value: Value) -> Optional[Sequence[Any]]:
    """The elements of a constant tuple or frozenset."""
    if value.pending or value.name is not None or value.items is not None or not isinstance(value.node, s.Constant):
        return None
    items = value.node.value
    if isinstance(items, frozenset):
        return sorted(items, key=repr)
    return items if isinstance(items, tuple) else None


def _is_set(node: s.Expression) -> bool:
    return isinstance(node, s.Set)


def _elements(node: s.Expression) -> List[s.Expression]:
    """The elements of a set display, without the `*()` that says that it is empty."""
    assert isinstance(node, s.Set)
    first = node.elts[0] if len(node.elts) == 1 else None
    if isinstance(first, s.Starred) and isinstance(first.value, s.Tuple) and not first.value.elts:
        return []
    return list(node.elts)


def _is_keyword(key: s.Expression) -> bool:
    if not isinstance(key, s.Constant) or not isinstance(key.value, str):
        return False
    return key.value.isidentifier() and not keyword.iskeyword(key.value)


def _unstar(node: s.Expression) -> s.Expression:
    if isinstance(node, s.Starred) and isinstance(node.value, s.Starred):
        return node.value
    return node


STORE_KINDS = frozenset({"STORE_LOCAL", "STORE_CELL", "STORE_GLOBAL", "STORE_NAME"})

# micro-op -> the method that executes it
METHODS: Dict[str, str] = {
    "POP": "op_pop", "COPY": "op_copy", "SWAP": "op_swap", "PUSH_NULL": "op_push_null",
    "CONST": "op_const", "LOAD_LOCAL": "op_load_local", "LOAD_CELL": "op_load_cell",
    "LOAD_CLOSURE": "op_load_closure", "LOAD_CLASS_CELL": "op_load_class_cell", "LOAD_LOCALS": "op_load_locals",
    "LOAD_FROM_MAPPING_OR_GLOBAL": "op_load_from_mapping", "LOAD_FROM_MAPPING_OR_CELL": "op_load_from_mapping",
    "SETUP_ANNOTATIONS": "op_setup_annotations", "PRINT_EXPR": "op_print_expr", "INTRINSIC": "op_intrinsic",
    "LOAD_GLOBAL": "op_load_global", "LOAD_NAME": "op_load_global",
    "STORE_LOCAL": "op_store_variable", "STORE_CELL": "op_store_variable",
    "STORE_GLOBAL": "op_store_variable", "STORE_NAME": "op_store_variable",
    "DELETE_LOCAL": "op_delete_variable", "DELETE_CELL": "op_delete_variable",
    "DELETE_GLOBAL": "op_delete_variable", "DELETE_NAME": "op_delete_variable",
    "LOAD_ATTR": "op_load_attr", "LOAD_SUPER_ATTR": "op_load_super_attr",
    "STORE_ATTR": "op_store_attr", "DELETE_ATTR": "op_delete_attr",
    "SUBSCR": "op_subscr", "STORE_SUBSCR": "op_store_subscr", "DELETE_SUBSCR": "op_delete_subscr",
    "UNARY": "op_unary", "BINARY": "op_binary", "INPLACE": "op_inplace", "COMPARE": "op_compare",
    "IS": "op_is", "CONTAINS": "op_contains", "TO_BOOL": "op_to_bool", "CHAIN": "op_chain",
    "BOOL": "op_bool", "SELECT": "op_select", "COMPREHENSION": "op_comprehension",
    "BUILD_LIST": "op_build_sequence", "BUILD_TUPLE": "op_build_sequence", "BUILD_SET": "op_build_set",
    "BUILD_MAP": "op_build_map", "BUILD_CONST_KEY_MAP": "op_build_const_key_map",
    "BUILD_SLICE": "op_build_slice", "BUILD_STRING": "op_build_string", "CONVERT": "op_convert",
    "FORMAT": "op_format", "LIST_TO_TUPLE": "op_list_to_tuple", "LIST_EXTEND": "op_list_extend",
    "LIST_APPEND": "op_list_append", "SET_ADD": "op_set_add", "SET_UPDATE": "op_set_update",
    "DICT_UPDATE": "op_dict_update", "DICT_MERGE": "op_dict_update", "MAP_ADD": "op_map_add",
    "UNPACK": "op_unpack", "UNPACK_EX": "op_unpack", "CALL": "op_call", "CALL_EX": "op_call_ex",
    "MAKE_FUNCTION": "op_make_function", "LOAD_BUILD_CLASS": "op_load_build_class",
    "LOAD_ASSERTION_ERROR": "op_load_assertion_error", "IMPORT_NAME": "op_import_name",
    "IMPORT_FROM": "op_import_from", "IMPORT_STAR": "op_import_star", "GET_ITER": "op_get_iter",
    "GET_AITER": "op_get_aiter",
    "GET_YIELD_FROM_ITER": "op_get_yield_from_iter", "GET_AWAITABLE": "op_get_awaitable",
    "YIELD_FROM": "op_yield_from", "YIELD": "op_yield", "RETURN": "op_return", "RAISE": "op_raise",
    "RERAISE": "op_reraise", "POP_EXCEPT": "op_pop_except", "NOWHERE": "op_nowhere", "BEFORE_WITH": "op_before_with",
    "BEFORE_ASYNC_WITH": "op_before_with",
}  # fmt: skip
for _kind in (
    "LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL",
    "GET_ANEXT", "END_ASYNC_FOR", "PUSH_EXC_INFO", "CHECK_EXC_MATCH", "CHECK_EG_MATCH",
    "PREP_RERAISE_STAR", "WITH_EXCEPT_START", "GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS", "MATCH_CLASS",
    "CLEANUP_THROW",
):  # fmt: skip
    METHODS.setdefault(_kind, "op_unsupported")

__all__ = [
    "METHODS", "AiterOf", "AssertionErrorName", "CoroutineComprehension", "Flipped", "Inplace", "IterOf", "Ops",
    "Stack", "bool_op", "flips", "is_none", "negate",
]  # fmt: skip
