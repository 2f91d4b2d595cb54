"""What each micro-op does to the symbolic stack. One method an op; control flow is in `statements`."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Type

from depyf.decompiler import syntax as s
from depyf.decompiler.build.calls import Calls
from depyf.decompiler.build.constants import constant_node
from depyf.decompiler.build.forms import (
    AiterOf,
    CoroutineComprehension,
    Flipped,
    Inplace,
    IterOf,
    as_index,
    bool_op,
    comes_later,
    flips,
    is_entered,
    is_none,
    negate,
    unfolded,
    would_be_fstring,
)
from depyf.decompiler.build.values import Cell, Fresh, ImportValue, Marker, Null, Slot
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.flow.graph import Both, Choice, Simple, Test


class Ops(Calls):
    """Executes straight-line micro-ops."""

    def run_ops(self, ops: Sequence[Op]) -> None:
        """Execute ops one after the other."""
        methods = _methods_of(type(self))
        count = len(ops)
        position = 0
        while position < count:
            op = ops[position]
            self.offset = op.offset
            if op.kind in STORES and position + 1 < count and ops[position + 1].kind in STORES:
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
            methods[op.kind](self, op)

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
        node = s.Name(self.variable(op.arg))
        if (op.offset, op.arg) in self.maybe_unbound:
            self.event(node)
        else:
            self.silent(node)

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
        if op.arg in self.generated and not self.killed:
            self.flush()
            self.delete([name])
        else:
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
        first = self.test(test, is_kept=True)
        operands = [self.nested(ops) for ops in reversed(rest)]
        tested = [s.SeparateTest(node) if isinstance(node, s.BoolOp) else node for node in operands[:-1]]
        self.event(bool_op(operator, [first, *tested, operands[-1]]))

    def op_select(self, op: Op) -> None:
        test, then, orelse = op.arg
        node = self.test(test)
        if comes_later(then, orelse) and not flips(node):
            node, then, orelse = negate(node), orelse, then
        self.event(s.IfExp(node, self.nested(then), self.nested(orelse)))

    # -- tests

    def test(self, test: Test, is_kept: bool = False, is_followed: bool = True) -> s.Expression:
        """The expression for a test whose first operand is on the stack.

        `is_kept`: the value that is tested may stay on the stack. `is_followed`: the test comes right after the value;
        after the first arm of a conditional expression it does not, so no compiler tests the operands in its place.
        """
        if isinstance(test, Simple):
            (node,) = self.take(self.pop())
            if test.kind == "none":
                return s.Compare(node, ["is not" if test.negate else "is"], [s.Constant(None)])
            if test.negate and isinstance(node, s.Compare) and flips(node):
                return Flipped(node.left, negate(node).ops, node.comparators)  # type: ignore[attr-defined]
            if isinstance(node, s.BoolOp) and is_followed:
                node = s.SeparateTest(node)
            return negate(node) if test.negate else node
        node = self.test(test.first)
        if isinstance(test, Both):
            values = [node, *(self.nested_test(ops, inner) for ops, inner in reversed(test.rest))]
            node = bool_op(test.op, values)
        else:
            assert isinstance(test, Choice)
            then, orelse = test.then, test.orelse
            if comes_later(then[0], orelse[0]) and not flips(node):
                node, then, orelse = negate(node), orelse, then
            first = self.nested_test(*then, is_kept, not is_kept)
            node = s.IfExp(node, first, self.nested_test(*orelse, is_kept))
        return negate(node) if test.negate else node

    def nested(self, ops: Sequence[Op]) -> s.Expression:
        """An expression that is computed only on some paths: nothing may be written for it."""
        return self.isolated(ops, lambda: self.take(self.pop())[0])

    def nested_test(
        self, ops: Sequence[Op], test: Test, is_kept: bool = False, is_followed: bool = True
    ) -> s.Expression:
        """A test that is computed only on some paths."""
        return self.isolated(ops, lambda: self.test(test, is_kept, is_followed))

    def isolated(self, ops: Sequence[Op], finish: Callable[[], s.Expression]) -> s.Expression:
        """Run ops that must come out as one expression."""
        pending, self.pending = self.pending, []
        killed, self.killed = self.killed, []
        out, self.out = self.out, []
        depth = len(self.values)
        self.around.append((depth, pending))
        self.run_ops(ops)
        node = finish()
        self.around.pop()
        if self.out or self.pending or self.killed or len(self.values) != depth:
            raise Unstructured("an operand needs statements")
        self.pending, self.killed, self.out = pending, killed, out
        return node

    # -- iteration and generators

    def op_get_iter(self, op: Op) -> None:
        (node,) = self.take(self.pop())
        self.event(IterOf(unfolded(node)))

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


# micro-op -> the method that executes it
_methods: Dict[Type[Ops], Dict[str, Callable[[Any, Op], None]]] = {}


def _methods_of(kind: Type[Ops]) -> Dict[str, Callable[[Any, Op], None]]:
    """The method for each micro-op, once for a class: most functions are short."""
    if kind not in _methods:
        _methods[kind] = {op: getattr(kind, name) for op, name in METHODS.items()}
    return _methods[kind]


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

__all__ = ["METHODS", "Ops"]
