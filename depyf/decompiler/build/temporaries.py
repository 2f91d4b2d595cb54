"""Values that the bytecode keeps on its stack, each with a name: `f(g(x) + 1)` as four short statements.

Off unless the environment has `DEPYF_REMOVE_TEMP=0`, for text that follows the bytecode operation by operation.
Like any other text it is shown only where it is proved.

An operation may be taken out of its statement only together with everything that is evaluated before it; what cannot
change meanwhile (constants, and locals that no other function can bind) may stay.  Each name is deleted right after the
statement that uses it, so that values live no longer than on the stack.
"""

from __future__ import annotations

import os
from typing import Callable, Container, List, Optional, Sequence

from depyf.decompiler import syntax as s

PREFIX = "__temp_"
_OPERATIONS = (s.Call, s.BinOp, s.Subscript, s.UnaryOp, s.Compare, s.List, s.Tuple, s.Dict, s.Set)


def are_wanted() -> bool:
    """Return whether the user asks for them."""
    return os.environ.get("DEPYF_REMOVE_TEMP", "1") == "0"


def name_values(body: List[s.Statement], stable: Container[str], taken: Container[str]) -> List[s.Statement]:
    """Return the statements of a function with each operation in one of its own.

    `stable`: the locals that only this function binds.  `taken`: names that must not be used.
    """
    return _Namer(stable, taken).statements(body)


class _Namer:
    def __init__(self, stable: Container[str], taken: Container[str]) -> None:
        self._stable = stable
        self._taken = taken
        self._number = 0
        self._before: List[s.Statement] = []  # what has to run before the statement at hand
        self._held: List[s.Expression] = []  # names whose values the next statement uses up
        self._origin = -1

    def statements(self, body: Sequence[s.Statement]) -> List[s.Statement]:
        result: List[s.Statement] = []
        for statement in body:
            if not isinstance(statement, (s.FunctionDef, s.AsyncFunctionDef, s.ClassDef)):
                self._inside(statement)
            result += self._statement(statement)
        return result

    def _inside(self, statement: s.Statement) -> None:
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                setattr(statement, name, self.statements(inner))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = self.statements(part.body)

    def _statement(self, statement: s.Statement) -> List[s.Statement]:
        self._before, self._held, self._origin = [], [], statement.origin
        value = statement.value if isinstance(statement, (s.Assign, s.Expr, s.Return)) else None
        if value is not None:
            self._operands(value)
        return [*self._before, statement, *self._deleted(statement)]

    def _deleted(self, statement: s.Statement) -> List[s.Statement]:
        held, self._held = self._held, []
        if not held or isinstance(statement, s.Return):
            return []
        return [s.Delete(held, origin=statement.origin)]

    def _operands(self, expression: s.Expression) -> None:
        """Name the operands of `expression` up to the last one that is an operation."""
        places = _places(expression)
        needed = [index for index, place in enumerate(places) if _is_operation(place.value)]
        for place in places[: needed[-1] + 1] if needed else ():
            if not self._may_stay(place.value):
                place.put(self._named(place.value))

    def _may_stay(self, expression: s.Expression) -> bool:
        return isinstance(expression, s.Constant) or (isinstance(expression, s.Name) and expression.id in self._stable)

    def _named(self, expression: s.Expression) -> s.Expression:
        outer, self._held = self._held, []
        self._operands(expression)
        name = self._new_name()
        assignment = s.Assign([name], expression, origin=self._origin)
        self._before += [assignment, *self._deleted(assignment)]
        self._held = [*outer, s.Name(name.id)]
        return name

    def _new_name(self) -> s.Name:
        self._number += 1
        while f"{PREFIX}{self._number}" in self._taken:
            self._number += 1
        return s.Name(f"{PREFIX}{self._number}")


def _is_operation(expression: s.Expression) -> bool:
    while isinstance(expression, s.Attribute):
        expression = expression.value
    return isinstance(expression, _OPERATIONS)


class _Place:
    """Where an operand stands in its expression."""

    def __init__(self, value: s.Expression, put: Callable[[s.Expression], None]) -> None:
        self.value = value
        self.put = put


def _places(expression: s.Expression) -> List[_Place]:
    """Return the operands that are always evaluated, in that order; none if the expression chooses or makes code."""
    if isinstance(expression, s.Call):
        found = [*_field(expression, "func")]
        expression.args, expression.keywords = list(expression.args), list(expression.keywords)
        found += _items(expression.args)
        return found + [place for one in expression.keywords for place in _field(one, "value")]
    if isinstance(expression, s.BinOp):
        return _field(expression, "left") + _field(expression, "right")
    if isinstance(expression, s.UnaryOp):
        return _field(expression, "operand")
    if isinstance(expression, s.Attribute):
        return _field(expression, "value")
    if isinstance(expression, s.Subscript):
        return _field(expression, "value") + ([] if _has_slice(expression.slice) else _field(expression, "slice"))
    if isinstance(expression, s.Compare) and len(expression.ops) == 1:
        expression.comparators = list(expression.comparators)
        return _field(expression, "left") + _items(expression.comparators)
    if isinstance(expression, (s.List, s.Tuple, s.Set)):
        expression.elts = list(expression.elts)
        return _items(expression.elts)
    return []


def _has_slice(expression: s.Expression) -> bool:
    return any(isinstance(node, s.Slice) for node in s.walk(expression))


def _field(node: s.Node, name: str) -> List[_Place]:
    value: Optional[s.Expression] = getattr(node, name)
    if value is None:
        return []
    return [_Place(value, lambda new: setattr(node, name, new))]


def _items(items: List[s.Expression]) -> List[_Place]:
    """Return the places of elements; `*values` are evaluated in their order, and stay where they are."""
    found = []
    for index, item in enumerate(items):
        if isinstance(item, s.Starred):
            found += _field(item, "value")
        else:
            found.append(_Place(item, lambda new, at=index: items.__setitem__(at, new)))  # type: ignore[misc]
    return found
