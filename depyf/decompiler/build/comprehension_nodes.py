"""Comprehensions: the loops that compute one -> the expression."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.expression_forms import bool_op, lambda_over, negate, with_mentions
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.provisional import Element, LoopItem

COMPREHENSIONS: Dict[str, Any] = {
    "<listcomp>": s.ListComp,
    "<setcomp>": s.SetComp,
    "<dictcomp>": s.DictComp,
    "<genexpr>": s.GeneratorExp,
}


def comprehension_node(
    kind: str,
    body: Sequence[s.Statement],
    source: s.Expression,
    unmentioned: Sequence[str] = (),
    uncaptured: Sequence[str] = (),
) -> s.Expression:
    """Return `[element for ... in source if ...]` from the loops that compute it.

    `unmentioned`, `uncaptured`: variables that only code mentions, or captures, which the compiler dropped.
    """
    generators: List[s.comprehension] = []
    statements: Sequence[s.Statement] = body
    while True:
        first = statements[0] if statements else None
        if isinstance(first, s.For) and isinstance(first.target, LoopItem):
            first = s.Expr(Element(None, s.Starred(first.iter)))
            break
        if isinstance(first, (s.For, s.AsyncFor)) and not first.orelse:
            iterable = source if not generators else first.iter
            generators.append(s.comprehension(first.target, iterable, [], int(isinstance(first, s.AsyncFor))))
            statements = first.body
        elif isinstance(first, s.If) and generators:
            condition, statements = _condition(first, statements[1:])
            generators[-1].ifs = [*generators[-1].ifs, condition]
        elif isinstance(first, s.Assign) and generators and len(first.targets) == 1:
            # `for x in [value]`, after another `for`: the compiler makes an assignment of it.
            generators.append(s.comprehension(first.targets[0], s.List([first.value]), [], 0))
            statements = statements[1:]
        else:
            break
    element = first.value if isinstance(first, s.Expr) else None
    if generators and (first is None or isinstance(first, (s.Pass, s.Continue))):
        # A condition that is never true: the compiler dropped what would have been collected.
        generators[-1].ifs = [*generators[-1].ifs, s.Constant(False)]
        element = Element(None, lambda_over([*uncaptured, *unmentioned]) if uncaptured else s.Constant(None))
        unmentioned, uncaptured = ([], []) if uncaptured else (unmentioned, [])
    if not isinstance(element, Element) or not generators:
        raise Unstructured("a comprehension of an unknown form")
    is_unpacked = isinstance(element.value, s.Starred)
    value = with_mentions(element.value.value if isinstance(element.value, s.Starred) else element.value, unmentioned)
    if uncaptured:
        value = s.IfExp(s.Constant(True), value, lambda_over(uncaptured))
    if kind == "<dictcomp>" and is_unpacked:
        return s.DictComp(value, None, generators)
    if is_unpacked:
        value = s.Starred(value)
    if kind == "<dictcomp>":
        return s.DictComp(element.key or s.Constant(None), value, generators)
    return COMPREHENSIONS[kind](value, generators)  # type: ignore[no-any-return]


def with_dropped_loops(body: List[s.Statement], variables: Sequence[str]) -> List[s.Statement]:
    """Return the loops of a comprehension with dropped ones over `variables` again, after an `if False`."""
    inner: List[s.Statement] = []
    for variable in reversed(variables):
        inner = [s.For(s.Name(variable), s.Tuple([]), inner, [])]
    last = body
    while inner and last and isinstance(last[0], (s.For, s.AsyncFor, s.If)) and not last[0].orelse:
        if not last[0].body or isinstance(last[0].body[0], (s.Pass, s.Continue)):
            last[0].body[:] = [s.If(s.Constant(False), inner, [])]
            break
        last = last[0].body
    return body


def _condition(first: s.If, rest: Sequence[s.Statement]) -> Tuple[s.Expression, Sequence[s.Statement]]:
    """Return the condition under which something is collected, and the statements that do it.

    A constant in a condition makes the compiler drop the test that it decides; the rest of it is still tested.
    """
    if rest:
        return _outcome([first], True), rest
    then, orelse = _collects(first.body), _collects(first.orelse)
    if then and orelse:
        raise Unstructured("a comprehension with an else")
    if then:
        return _choice(first.test, s.Constant(True), _outcome(first.orelse, False)), first.body
    if orelse:
        return _choice(first.test, _outcome(first.body, False), s.Constant(True)), first.orelse
    return _outcome([first], True), []


def _collects(body: Sequence[s.Statement]) -> bool:
    """Return whether statements lead to what is collected."""
    while body:
        last = body[-1]
        if not isinstance(last, s.If):
            return not isinstance(last, (s.Pass, s.Continue))
        if _collects(last.body):
            return True
        body = last.orelse
    return False


def _outcome(body: Sequence[s.Statement], end: bool) -> s.Expression:
    """Return tests that only decide whether to collect as one expression; `end` is its value at the end of `body`."""
    found: List[s.Expression] = []
    for statement in body:
        if isinstance(statement, s.Continue):
            end = False
            break
        if isinstance(statement, s.If):
            found.append(_choice(statement.test, _outcome(statement.body, True), _outcome(statement.orelse, True)))
        elif not isinstance(statement, s.Pass):
            raise Unstructured("a comprehension of an unknown form")
    if not end or not found:
        found.append(s.Constant(end))
    return found[0] if len(found) == 1 else bool_op("and", found)


def _choice(test: s.Expression, then: s.Expression, orelse: s.Expression) -> s.Expression:
    """Return `then if test else orelse`, where only the truth counts."""
    if isinstance(then, s.Constant) and isinstance(orelse, s.Constant):
        if then.value == orelse.value:
            return bool_op("or" if then.value else "and", [test, then])
        return test if then.value else negate(test)
    if isinstance(then, s.Constant):
        return bool_op("or", [test, orelse]) if then.value else bool_op("and", [negate(test), orelse])
    if isinstance(orelse, s.Constant):
        return bool_op("or", [negate(test), then]) if orelse.value else bool_op("and", [test, then])
    return s.IfExp(test, then, orelse)
