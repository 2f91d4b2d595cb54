"""`match` statements: a chain of cases -> one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generator, List, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.forms import WILDCARD
from depyf.decompiler.build.values import Marker, Value, fork
from depyf.decompiler.bytecode.microops import STORES, Op
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.structure import CaseNode
from depyf.decompiler.structure.case_patterns import HIDDEN, Place

if TYPE_CHECKING:
    from depyf.decompiler.build.control_flow import Statements

SUBJECT = "subject"


def match_statement(builder: Statements, item: CaseNode) -> Generator[Any, None, None]:
    """Build a match statement from its first case on."""
    value = builder.pop()
    if isinstance(value, Marker):
        raise Unstructured("a case without its match statement")
    (subject,) = builder.take(value, final=True)
    killed, builder.killed = builder.killed, []
    builder.flush()
    # A temporary goes where the subject would be popped: when a case is chosen.
    released = [s.Delete([s.Name(name)], origin=item.offset) for name in dict.fromkeys(killed)]
    cases: List[s.match_case] = []
    builder.out.append(s.Match(subject, cases, origin=item.offset))
    base = builder.values
    ways = []
    while True:
        kept: List[Value] = [Marker(SUBJECT)] if item.case.keeps else []
        body: List[s.Statement] = [*released]
        builder.values = fork(base)
        cases.append(s.match_case(pattern_node(builder, item.case.pattern), guard_node(builder, item), body))
        yield builder.part(item.body, [*fork(base), *kept], body)
        ways.append((builder.falls, builder.values, body))
        items = item.orelse.items
        if len(items) != 1 or not isinstance(items[0], CaseNode) or not item.case.keeps:
            break
        item = items[0]
    body = [*released]
    pattern, rest = _last(builder, item)
    kept = [Marker(SUBJECT)] if item.case.keeps and rest is item.orelse else []
    yield builder.part(rest, [*fork(base), *kept], body)
    ways.append((builder.falls, builder.values, body))
    builder.join(ways, base)
    if body or pattern is not WILDCARD:
        cases.append(s.match_case(pattern, None, body or [s.Pass()]))
    for case in cases:
        if not case.body:
            case.body.append(s.Pass())


def _last(builder: Statements, item: CaseNode) -> Any:
    """(pattern, sequence) of what is left when all tests have failed: `case _`, or `case x`."""
    items = item.orelse.items
    first = items[0] if items else None
    if item.case.keeps and isinstance(first, Op) and first.kind in STORES:
        rest = type(item.orelse)(items[1:])
        return s.MatchAs(None, builder.variable_of(first)), rest
    return WILDCARD, item.orelse


def guard_node(builder: Statements, item: CaseNode) -> Optional[s.Expression]:
    """The condition after the pattern."""
    guard = item.case.guard
    if guard is None:
        return None
    ops, test = guard
    return builder.isolated(ops, lambda: builder.test(test))


def pattern_node(builder: Statements, place: Place) -> s.Pattern:
    """The pattern as syntax."""
    node = _unnamed(builder, place)
    for op in place.names:
        name = builder.variable_of(op)
        if isinstance(node, s.MatchAs) and node.name is None and node.pattern is None:
            node = s.MatchAs(None, name)
        else:
            node = s.MatchAs(node, name)
    return node


def _unnamed(builder: Statements, place: Place) -> s.Pattern:
    parts = place.parts
    if place.kind == "value":
        return s.MatchValue(expression(builder, place.value))
    if place.kind == "singleton":
        return s.MatchSingleton(place.value)
    if place.kind == "or":
        return s.MatchOr([pattern_node(builder, part) for part in parts])
    if place.kind == "sequence":
        return s.MatchSequence(_elements(builder, place))
    if place.kind == "class":
        nodes = [pattern_node(builder, part) for part in parts]
        count = len(parts) - len(place.extra)
        return s.MatchClass(expression(builder, place.value), nodes[:count], list(place.extra), nodes[count:])
    if place.kind == "mapping":
        keys = [expression(builder, ops) for ops in place.value or ()]
        rest = None if place.extra is None else builder.variable_of(place.extra)
        return s.MatchMapping(keys, [pattern_node(builder, part) for part in parts], rest)
    return s.MatchAs()


def _elements(builder: Statements, place: Place) -> List[s.Pattern]:
    """The parts of a sequence, with its star."""
    nodes = [pattern_node(builder, part) for part in place.parts]
    if place.star >= 0:
        names = place.parts[place.star].names
        if len(names) > 1 or place.parts[place.star].kind:
            raise Unstructured("a star that binds more than a name")
        nodes[place.star] = s.MatchStar(builder.variable_of(names[0]) if names else None)
    elif place.star == HIDDEN:
        nodes.insert(place.value[1], s.MatchStar(None))
    elif place.value is None:
        nodes.append(s.MatchStar(None))
    return nodes


def expression(builder: Statements, ops: Sequence[Op]) -> s.Expression:
    """A value, class or key of a pattern."""
    return builder.isolated(ops, lambda: builder.take(builder.pop())[0])
