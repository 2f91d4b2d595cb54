"""Forms of expressions: questions about one, and small rewritings."""

from __future__ import annotations

import keyword
import re
from typing import Any, Callable, List, Optional, Sequence, Union

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constant_nodes import spellable
from depyf.decompiler.build.symbolic_values import Slot, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.literals import iterated_elements, spelled_elements
from depyf.decompiler.syntax.provisional import AiterOf, Flipped, IterOf

_OPPOSITES = {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
WILDCARD = s.MatchAs()  # the `case _` that is dropped if its body is empty


def iterable_of(source: Union[AiterOf, IterOf], facts: PythonFacts) -> s.Expression:
    """Return what to loop over for an iterator; a display that the compiler folds there is spelled otherwise."""
    if isinstance(source, AiterOf) or source.is_constant:
        return source.value
    return _unfolded_display(source.value, facts.iterated_lists_become_tuples)


def _unfolded_display(node: s.Expression, folds_lists: bool) -> s.Expression:
    """Return a display to iterate over that the compiler does not fold, as it does `[1]` and `{1, 2}`.

    `folds_lists`: it makes a tuple of `[x]`, too.
    """
    if not isinstance(node, (s.List, s.Set)) or any(isinstance(element, s.Starred) for element in node.elts):
        return node
    folds_all = folds_lists and isinstance(node, s.List)
    if folds_all or all(isinstance(element, s.Constant) for element in node.elts):
        return type(node)([s.Starred(s.Tuple(node.elts))])
    return node


def set_to_iterate(value: Value, is_exact: bool, charge: Callable[[int], None]) -> Optional[s.Set]:
    """Return the display of which the compiler makes the constant set that `value` is; None if there is none."""
    constant = value.node.value if isinstance(value.node, s.Constant) and value.name is None else None
    if type(constant) is not frozenset or value.pending or value.targets or not constant or not spellable(constant):
        return None
    elements = iterated_elements(constant, is_exact, charge)
    return None if elements is None else s.Set([s.Constant(item) for item in elements])


def unfolded_constant(node: s.Expression) -> s.Expression:
    """Return a number as an operand with which the compiler computes nothing itself: `1 or None`, which is 1."""
    if not isinstance(node, s.Constant) or not isinstance(node.value, (int, float, complex)):
        return node
    return s.BoolOp("or" if node.value else "and", [node, s.Constant(None)])


def with_mentions(node: s.Expression, names: Sequence[str]) -> s.Expression:
    """Return an expression that mentions variables in code which the compiler drops, as the original must have done."""
    mentioned: List[s.Expression] = [s.Name(name) for name in names]
    return s.IfExp(s.Constant(True), node, s.Tuple(mentioned)) if names else node


def lambda_over(names: Sequence[str]) -> s.Lambda:
    """Return a lambda that refers to variables, so that they are cells."""
    nodes: List[s.Expression] = [s.Name(name) for name in names]
    return s.Lambda(s.arguments(), nodes[0] if len(nodes) == 1 else s.Tuple(nodes))


def is_entered(value: Value) -> bool:
    """Return whether a value is what an `async with` has entered and awaits."""
    return isinstance(value, Slot) and value.pattern.source == "entered async"


def keyword_nodes(names: Sequence[str], nodes: Sequence[s.Expression]) -> List[s.keyword]:
    """Return keyword arguments; names that are reserved words, or no identifiers, are passed by `**`."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return [s.keyword(name, node) for name, node in zip(names, nodes)]
    return [s.keyword(None, s.Dict([s.Constant(name) for name in names], list(nodes)))]


_SIMPLE_FORMAT = re.compile(r"(?:[^%]|%%|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[sra])*")


def would_be_fstring(left: s.Expression, right: s.Expression) -> bool:
    """Return whether the compiler (from 3.11 on) would make an f-string of `left % right`: left is a literal."""
    if not isinstance(left, s.Constant) or not isinstance(left.value, str) or not isinstance(right, s.Tuple):
        return False
    if any(isinstance(item, s.Starred) for item in right.elts):
        return False
    return _SIMPLE_FORMAT.fullmatch(left.value) is not None


def bool_op(operator: str, values: List[s.Expression]) -> s.BoolOp:
    """Return `a and b`, with a chain of the same operator at the end joined in."""
    last = values[-1]
    if isinstance(last, s.BoolOp) and last.op == operator:
        return s.BoolOp(operator, [*values[:-1], *last.values])
    return s.BoolOp(operator, values)


def is_written_second(then: Sequence[Op], orelse: Sequence[Op]) -> bool:
    """Return whether the second arm of a choice comes first in the code: then it was written first, with `not`."""
    return bool(then and orelse) and 0 <= orelse[0].offset < then[0].offset


def negate(node: s.Expression) -> s.Expression:
    """Return `not node`, without a double negation."""
    if isinstance(node, s.SeparateTest):
        return negate(node.value)
    if isinstance(node, Flipped):
        return negate(node.test)
    if isinstance(node, s.UnaryOp) and node.op == "not":
        return node.operand
    if isinstance(node, s.Compare) and len(node.ops) == 1 and node.ops[0] in _OPPOSITES:
        return opposite(node)
    if isinstance(node, s.BoolOp):
        if flips(node):
            return s.UnaryOp("not", node)
        opposites = [negate(value) for value in node.values]
        added = sum(isinstance(value, s.UnaryOp) and value.op == "not" for value in opposites)
        removed = sum(isinstance(value, s.UnaryOp) and value.op == "not" for value in node.values)
        if added <= removed:
            return s.BoolOp("or" if node.op == "and" else "and", opposites)
    return s.UnaryOp("not", node)


def opposite(node: s.Compare) -> s.Compare:
    """Return an `is` or `in` test with the opposite operator."""
    return s.Compare(node.left, [_OPPOSITES[node.ops[0]]], node.comparators)


def flips(node: s.Expression) -> bool:
    """Return whether `negate` would change the operator of an `is` or `in` test, which makes another instruction."""
    if isinstance(node, s.SeparateTest):
        return flips(node.value)
    if isinstance(node, Flipped):
        return flips(node.test)
    if isinstance(node, s.BoolOp):
        return any(flips(value) for value in node.values)
    if not isinstance(node, s.Compare) or len(node.ops) != 1 or is_none(node.comparators[0]):
        return False
    return node.ops[0] in _OPPOSITES


def is_none(node: s.Expression) -> bool:
    """Return whether an expression is the constant None."""
    return isinstance(node, s.Constant) and node.value is None


def slice_bound(node: s.Expression) -> Optional[s.Expression]:
    """Return the bound of a slice: `x[None:1]` is `x[:1]`."""
    return None if is_none(node) else node


def is_plain(value: Value) -> bool:
    """Return whether a value is a constant: silent, and the same wherever it is written."""
    return not value.pending and value.name is None and isinstance(value.node, s.Constant) and value.items is None


def is_plain_key(node: s.Expression) -> bool:
    """Return whether a dict takes this key without running code and equal keys are the same: no float, bool, tuple."""
    return isinstance(node, s.Constant) and type(node.value) in (str, int, bytes, type(None))


def as_spec(node: s.Expression) -> s.Expression:
    """Return a format spec as a joined string."""
    if isinstance(node, s.JoinedStr):
        return node
    if isinstance(node, s.Constant) and isinstance(node.value, str):
        return s.JoinedStr([node])
    return s.JoinedStr([s.FormattedValue(node)])


def is_string(node: s.Expression) -> bool:
    """Return whether a node is a string constant."""
    return isinstance(node, s.Constant) and isinstance(node.value, str)


def joined(nodes: Sequence[s.Expression]) -> s.Expression:
    """Return what BUILD_STRING makes of pieces: an f-string; of strings made elsewhere, a call of `join`."""
    if all(isinstance(node, s.JoinedStr) or is_string(node) for node in nodes):
        return s.JoinedStr([part for node in nodes for part in string_parts(node)])
    return s.Call(s.Attribute(s.Constant(""), "join"), [s.Tuple(list(nodes))])


def string_parts(node: s.Expression) -> Sequence[s.Expression]:
    """Return the parts that a piece contributes to an f-string."""
    if isinstance(node, s.JoinedStr):
        return node.values
    return [node]


def constant_items(value: Value) -> Optional[Sequence[Any]]:
    """Return the elements of a constant tuple or frozenset; None for any other value."""
    if value.pending or value.name is not None or value.items is not None or not isinstance(value.node, s.Constant):
        return None
    items = value.node.value
    if isinstance(items, frozenset):
        return spelled_elements(items)
    return items if isinstance(items, tuple) else None


def set_elements(node: s.Expression) -> List[s.Expression]:
    """Return the elements of a set display, without the `*()` that spells an empty one."""
    if not isinstance(node, s.Set):
        raise Unstructured("SET_UPDATE on a set that is in use")
    first = node.elts[0] if len(node.elts) == 1 else None
    if isinstance(first, s.Starred) and isinstance(first.value, s.Tuple) and not first.value.elts:
        return []
    return list(node.elts)


def is_keyword(key: s.Expression) -> bool:
    """Return whether a key of a dict can be the name of a keyword argument."""
    if not isinstance(key, s.Constant) or not isinstance(key.value, str):
        return False
    return key.value.isidentifier() and not keyword.iskeyword(key.value)


def unstar(node: s.Expression) -> s.Expression:
    """Return `*x` for a star around `*x`."""
    if isinstance(node, s.Starred) and isinstance(node.value, s.Starred):
        return node.value
    return node


def constant_of(value: Value) -> Any:
    """Return the constant that was pushed."""
    if isinstance(value.node, s.Constant) and not value.pending and value.items is None:
        return value.node.value
    if isinstance(value.node, s.Placeholder):
        return value.node.value
    raise Unstructured("a constant was expected on the stack")


def as_item(nodes: Sequence[s.Expression]) -> s.Expression:
    """Return `x[k]` from x and k, `x[i:j]` from x, i and j."""
    if len(nodes) == 2:
        return s.Subscript(nodes[0], nodes[1])
    bounds = [None if isinstance(node, s.Constant) and node.value is None else node for node in nodes[1:]]
    return s.Subscript(nodes[0], s.Slice(*bounds))


def is_constant(value: Value, constant: Any) -> bool:
    """Return whether a value is this very constant."""
    return isinstance(value.node, s.Constant) and value.node.value is constant and not value.pending


def is_dropped(statement: s.If) -> bool:
    """Return whether a statement is `if False: x`, which the compiler drops but for what it makes of variables."""
    if not isinstance(statement.test, s.Constant) or statement.test.value is not False or statement.orelse:
        return False
    return len(statement.body) == 1 and isinstance(statement.body[0], s.Expr)


def as_expression(body: Sequence[s.Statement]) -> s.Expression:
    """Return a lambda's body: its returns, joined by conditional expressions."""
    if body and isinstance(body[0], s.Nonlocal):
        return with_mentions(as_expression(body[1:]), body[0].names)
    if body and isinstance(body[0], s.If) and is_dropped(body[0]):
        return s.IfExp(s.Constant(True), as_expression(body[1:]), body[0].body[0].value)  # type: ignore[attr-defined]
    if len(body) >= 1 and isinstance(body[0], s.If):
        is_settled = not body[0].orelse and all(isinstance(statement, s.Pass) for statement in body[0].body)
        then = as_expression(body[1:] if is_settled else body[0].body)
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
