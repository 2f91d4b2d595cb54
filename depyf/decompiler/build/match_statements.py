"""`match` statements: a chain of cases -> one statement."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.boolean_tests import isolated, operand, test_node
from depyf.decompiler.build.effects import flush, take
from depyf.decompiler.build.expression_forms import WILDCARD
from depyf.decompiler.build.region_walk import build_part, join
from depyf.decompiler.build.symbolic_frame import Frame, Steps
from depyf.decompiler.build.symbolic_values import Marker, Value, fork
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import CaseNode
from depyf.decompiler.structure.case_patterns import HIDDEN, Place

SUBJECT = "subject"


def match_statement(frame: Frame, item: CaseNode) -> Steps:
    """Write a match statement, from its first case on."""
    stack, output = frame.stack, frame.output
    value = stack.pop()
    if isinstance(value, Marker):
        raise Unstructured("a case without its match statement")
    (subject,) = take(frame, value, final=True)
    killed = stack.take_killed()
    flush(frame)
    # A temporary goes where the subject would be popped: when a case is chosen.
    released = [s.Delete([s.Name(name)], origin=item.offset) for name in dict.fromkeys(killed)]
    cases: List[s.match_case] = []
    output.body.append(s.Match(subject, cases, origin=item.offset))
    base = stack.values
    ways = []
    while True:
        kept: List[Value] = [Marker(SUBJECT)] if item.case.keeps else []
        body: List[s.Statement] = [*released]
        stack.values = fork(base)
        cases.append(s.match_case(pattern_node(frame, item.case.pattern), guard_node(frame, item), body))
        yield build_part(frame, item.body, [*fork(base), *kept], body)
        ways.append((output.falls, stack.values, body))
        items = item.orelse.items
        if len(items) != 1 or not isinstance(items[0], CaseNode) or not item.case.keeps:
            break
        item = items[0]
    body = [*released]
    pattern, rest = _default_case(frame, item)
    kept = [Marker(SUBJECT)] if item.case.keeps and rest is item.orelse else []
    yield build_part(frame, rest, [*fork(base), *kept], body)
    ways.append((output.falls, stack.values, body))
    join(frame, ways, base)
    if body or pattern is not WILDCARD:
        cases.append(s.match_case(pattern, None, body or [s.Pass()]))
    for case in cases:
        if not case.body:
            case.body.append(s.Pass())


def _default_case(frame: Frame, item: CaseNode) -> Any:
    """Return (pattern, sequence) of what runs when all tests have failed: `case _`, or `case x`."""
    items = item.orelse.items
    first = items[0] if items else None
    if item.case.keeps and isinstance(first, Op) and first.kind in STORES:
        rest = type(item.orelse)(items[1:])
        return s.MatchAs(None, frame.scope.bound_name(first)), rest
    return WILDCARD, item.orelse


def guard_node(frame: Frame, item: CaseNode) -> Optional[s.Expression]:
    """Return the condition after the pattern."""
    guard = item.case.guard
    if guard is None:
        return None
    ops, test = guard
    return isolated(frame, ops, lambda: test_node(frame, test))


def pattern_node(frame: Frame, place: Place) -> s.Pattern:
    """Return the pattern as syntax."""
    node = _pattern_without_names(frame, place)
    for op in place.names:
        name = frame.scope.bound_name(op)
        if isinstance(node, s.MatchAs) and node.name is None and node.pattern is None:
            node = s.MatchAs(None, name)
        else:
            node = s.MatchAs(node, name)
    return node


def _pattern_without_names(frame: Frame, place: Place) -> s.Pattern:
    parts = place.parts
    if place.kind == "value":
        return s.MatchValue(expression(frame, place.value))
    if place.kind == "singleton":
        return s.MatchSingleton(place.value)
    if place.kind == "or":
        return s.MatchOr([pattern_node(frame, part) for part in parts])
    if place.kind == "sequence":
        return s.MatchSequence(_elements(frame, place))
    if place.kind == "class":
        nodes = [pattern_node(frame, part) for part in parts]
        count = len(parts) - len(place.extra)
        return s.MatchClass(expression(frame, place.value), nodes[:count], list(place.extra), nodes[count:])
    if place.kind == "mapping":
        keys = [expression(frame, ops) for ops in place.value or ()]
        rest = None if place.extra is None else frame.scope.bound_name(place.extra)
        return s.MatchMapping(keys, [pattern_node(frame, part) for part in parts], rest)
    return s.MatchAs()


def _elements(frame: Frame, place: Place) -> List[s.Pattern]:
    """Return the parts of a sequence, with its star."""
    nodes = [pattern_node(frame, part) for part in place.parts]
    if place.star >= 0:
        names = place.parts[place.star].names
        if len(names) > 1 or place.parts[place.star].kind:
            raise Unstructured("a star that binds more than a name")
        nodes[place.star] = s.MatchStar(frame.scope.bound_name(names[0]) if names else None)
    elif place.star == HIDDEN:
        nodes.insert(place.value[1], s.MatchStar(None))
    elif place.value is None:
        nodes.append(s.MatchStar(None))
    return nodes


def expression(frame: Frame, ops: Sequence[Op]) -> s.Expression:
    """Return a value, class or key of a pattern."""
    return operand(frame, ops)
