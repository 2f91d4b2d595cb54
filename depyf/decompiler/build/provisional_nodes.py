"""Nodes that stand in the tree for a while -> the syntax that they become."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constant_nodes import Placeholders
from depyf.decompiler.build.symbolic_values import FunctionValue
from depyf.decompiler.bytecode.python_facts import MOST_PAIRS_IN_TURN
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import (
    AiterOf,
    AssertionErrorName,
    CallArguments,
    CallKeywords,
    Converted,
    CoroutineComprehension,
    Dropped,
    Flipped,
    Inplace,
    IterOf,
    Reference,
)

_LEAVES = frozenset({s.Name, s.Constant})  # nothing below; most nodes
_OPERANDS = frozenset({s.Subscript, s.Attribute, s.Call})  # never provisional themselves
_CONVERSIONS = {"s": str, "r": repr, "a": ascii}


def resolve(body: List[s.Statement], placeholders: Placeholders) -> List[s.Statement]:
    """Replace provisional expressions by what they have become, in place."""
    work: List[Any] = list(body)
    while work:
        node = work.pop()
        kind = type(node)
        if kind is s.Attribute and type(node.value) in _LEAVES:
            continue
        if kind is s.Subscript and type(node.value) in _LEAVES and type(node.slice) in _LEAVES:
            continue
        if kind is s.Dict and None in node.keys:
            spread(node, placeholders)
        elif (kind is s.Call or kind is s.ClassDef) and (node.keywords or (kind is s.Call and node.args)):
            spread_arguments(node)
        for slot in node.parts:
            child: Any = getattr(node, slot, None)
            kind = type(child)
            if kind in _LEAVES or (kind is list and _LEAVES.issuperset(map(type, child))):
                continue
            if kind in _OPERANDS:
                work.append(child)
            elif isinstance(child, s.Node):
                final = _resolved(child, placeholders)
                if type(final) is Flipped and not (slot == "test" and isinstance(node, s.If)):
                    final = final.test  # no branches are left to swap
                if final is not child:
                    setattr(node, slot, final)
                if type(final) not in _LEAVES:
                    work.append(final)
            elif isinstance(child, (list, tuple)) and child and slot != "names":
                new = [_resolved(item, placeholders) if isinstance(item, s.Node) else item for item in child]
                new = [item.test if type(item) is Flipped else item for item in new]
                if slot in ("body", "orelse", "finalbody", "handlers"):
                    work.extend(new)
                else:
                    setattr(node, slot, new)
                    work.extend([item for item in new if isinstance(item, s.Node) and type(item) not in _LEAVES])
    return body


def spread(node: s.Dict, placeholders: Placeholders) -> None:
    """Write `{**x, **{y: z}}` as `{**x, y: z}`: the compiler, too, puts what comes after a `**` into a dict of its own.

    If that is long it makes several, each of as many pairs as it builds in turn.
    """
    pairs: List[Tuple[Optional[s.Expression], s.Expression]] = []
    written = 1  # pairs since the last `**`; those at the beginning of the display are not in a dict of their own
    for key, value in zip(node.keys, node.values):
        can_be_spread = key is None and written % MOST_PAIRS_IN_TURN == 0
        inner = _resolved(value, placeholders) if can_be_spread else None
        if isinstance(inner, s.Dict) and 0 < len(inner.keys) <= MOST_PAIRS_IN_TURN and None not in inner.keys:
            pairs.extend(zip(inner.keys, inner.values))
            written += len(inner.keys)
        else:
            pairs.append((key, value))
            written = 0 if key is None else 1
    node.keys, node.values = [key for key, _ in pairs], [value for _, value in pairs]


def spread_arguments(node: Union[s.Call, s.ClassDef]) -> None:
    """Write the arguments that were collected before a call (3.8) as arguments."""
    keywords = [(one, _referred(one.value) if one.arg is None else None) for one in node.keywords]
    if any(type(inner) is CallKeywords for _, inner in keywords):
        node.keywords = [
            part for one, inner in keywords for part in (inner.keywords if type(inner) is CallKeywords else [one])
        ]
    if isinstance(node, s.Call):
        arguments = [(one, _referred(one.value) if isinstance(one, s.Starred) else None) for one in node.args]
        if any(type(inner) is CallArguments for _, inner in arguments):
            node.args = [
                part for one, inner in arguments for part in (inner.elts if type(inner) is CallArguments else [one])
            ]


def _referred(node: Any) -> Any:
    """Return the node that a value of the builder has become."""
    while isinstance(node, Reference):
        value = node.value
        if value.name is not None:
            return s.Name(value.name)
        if isinstance(value, FunctionValue) and not isinstance(value.node, s.Lambda):
            raise Unstructured("a function is used before it has a name")
        node = value.node
    return node


def _resolved(node: Any, placeholders: Placeholders) -> Any:
    node = _referred(node)
    if type(node) is Dropped:
        return s.Name(node.id)
    if type(node) is Inplace:
        raise Unstructured("an in-place operation inside an expression")
    if type(node) is IterOf:
        return s.Call(placeholders.node(iter), [node.value])
    if type(node) is Converted:
        return s.Call(placeholders.node(_CONVERSIONS[chr(node.conversion)]), [node.value])
    if type(node) is CallArguments:
        return s.Tuple(node.elts)
    if type(node) is CallKeywords:
        names: List[Optional[s.Expression]] = [s.Constant(one.arg) if one.arg else None for one in node.keywords]
        return s.Dict(names, [one.value for one in node.keywords])
    if type(node) in (AiterOf, CoroutineComprehension):
        raise Unstructured("an iterator that no loop runs over")
    return node


def spell_assertion_errors(body: List[s.Statement], placeholders: Placeholders) -> None:
    """Replace the interpreter's own AssertionError outside assert statements by a placeholder: no source spells it."""
    work: List[Any] = list(body)
    while work:
        node = work.pop()
        for slot in node.__slots__:
            child = getattr(node, slot, None)
            if type(child) is AssertionErrorName:
                setattr(node, slot, placeholders.node(AssertionError))
            elif isinstance(child, (list, tuple)) and any(type(item) is AssertionErrorName for item in child):
                own = placeholders.node(AssertionError)
                setattr(node, slot, [own if type(item) is AssertionErrorName else item for item in child])
        work.extend(s.children(node))
