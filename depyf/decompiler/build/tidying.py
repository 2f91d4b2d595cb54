"""The last touches to a body: statements as a person would write them."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterator, List, Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.expression_forms import WILDCARD, flips, negate
from depyf.decompiler.bytecode.budget import Budget
from depyf.decompiler.syntax.provisional import AssertionErrorName, Flipped

_WITH_BODIES = frozenset({s.If, s.For, s.While, s.AsyncFor, s.With, s.AsyncWith, s.Match, s.Try, s.TryStar})
_TIDIED = frozenset({s.If, s.Raise, s.Try})


def own_statements(body: List[s.Statement]) -> Iterator[s.Statement]:
    """Yield the statements of a body and of those inside it, in the order of the text; not of functions and classes."""
    work = [iter(body)]
    while work:
        statement = next(work[-1], None)
        if statement is None:
            work.pop()
            continue
        yield statement
        if statement.__class__ in _WITH_BODIES:
            work.append(itertools.chain.from_iterable(bodies(statement)))


def tidy_body(body: List[s.Statement], budget: Budget, asserts_read_global: bool = False) -> List[s.Statement]:
    """Rewrite the body of a function as a person would write it, in place.

    `asserts_read_global`: the AssertionError of assert statements is the global of that name.
    """
    work: List[Tuple[List[s.Statement], bool]] = [(body, False)]
    while work:
        current, ends_loop = work.pop()
        _tidy(current, ends_loop, budget, asserts_read_global)
        for statement in [statement for statement in current if statement.__class__ in _WITH_BODIES]:
            is_loop = isinstance(statement, (s.For, s.While, s.AsyncFor))
            at_end = ends_loop and statement is current[-1]
            for part in bodies(statement):
                if is_loop and part is statement.body:  # type: ignore[attr-defined]
                    work.append((part, True))
                else:
                    work.append((part, at_end and isinstance(statement, s.If)))
    _drop_final_returns(body)
    return body


def bodies(statement: s.Statement) -> List[List[s.Statement]]:
    """Return the bodies directly inside a statement."""
    if isinstance(statement, (s.If, s.For, s.While, s.AsyncFor)):
        return [statement.body, statement.orelse]
    if isinstance(statement, (s.With, s.AsyncWith)):
        return [statement.body]
    if isinstance(statement, s.Match):
        return [case.body for case in statement.cases]
    if isinstance(statement, (s.Try, s.TryStar)):
        return [statement.body, *(h.body for h in statement.handlers), statement.orelse, statement.finalbody]
    return []


def _tidy(body: List[s.Statement], ends_loop: bool, budget: Budget, asserts_read_global: bool) -> None:
    """Rewrite the statements of one body; the else of an `if` that always leaves comes after it.

    `ends_loop`: at the end of the body its loop continues.
    """
    position = 0
    while position < len(body):
        statement = body[position]
        if statement.__class__ not in _TIDIED:
            pass
        elif isinstance(statement, s.If):
            if not statement.body and statement.orelse and not flips(statement.test):
                statement.test = negate(statement.test)
                statement.body, statement.orelse = statement.orelse, []
            assertion = _as_assert(statement, asserts_read_global)
            if assertion is not None:
                body[position : position + 1] = [assertion, *statement.orelse]
                continue
            if type(statement.test) is Flipped:
                statement.test = negate(statement.test)
                statement.body, statement.orelse = statement.orelse, statement.body
            if not statement.body:
                statement.body.append(s.Continue() if ends_loop and position == len(body) - 1 else s.Pass())
            if statement.orelse and position == len(body) - 1 and ends(statement.body, budget):
                rest = statement.orelse
                statement.orelse = []
                body.extend(rest)
            elif position == len(body) - 1 and _short_end(statement.orelse) and not flips(statement.test):
                statement.test = negate(statement.test)
                rest = statement.body
                statement.body, statement.orelse = statement.orelse, []
                body.extend(rest)
        elif isinstance(statement, s.Raise):
            body[position] = _assertion(statement, lambda: s.Constant(False), False) or statement
        elif isinstance(statement, s.Try):
            _join_try(statement)
            if len(statement.body) > 1 and _is_bare_return(statement.body[-1]) and ends(statement.finalbody, budget):
                statement.body = statement.body[:-1]  # nothing is returned: the `finally` leaves
            if statement.orelse and statement.handlers and not statement.finalbody:
                if position == len(body) - 1 and all(ends(handler.body, budget) for handler in statement.handlers):
                    body.extend(statement.orelse)
                    statement.orelse = []
        position += 1


def _short_end(body: List[s.Statement]) -> bool:
    leaves = (s.Continue, s.Break)
    return len(body) == 1 and isinstance(body[0], leaves) and not _is_bare_return(body[0])


def _is_bare_return(statement: s.Statement) -> bool:
    return isinstance(statement, s.Return) and statement.value is None


def ends(body: List[s.Statement], budget: Budget) -> bool:
    """Return whether control never reaches the end of a body."""
    while body:
        budget.charge()  # statements at the end of each other are followed from each of them
        last = body[-1]
        if isinstance(last, (s.Return, s.Raise, s.Break, s.Continue)):
            return True
        if isinstance(last, s.If) and last.orelse and ends(last.body, budget):
            body = last.orelse
            continue
        if isinstance(last, s.Try) and last.handlers and all(ends(handler.body, budget) for handler in last.handlers):
            body = last.orelse or last.body
            continue
        return False
    return False


def _as_assert(statement: s.If, asserts_read_global: bool) -> Optional[s.Statement]:
    """Return the assert statement for `if not x: raise AssertionError(m)` with the AssertionError of those."""
    if len(statement.body) != 1 or not isinstance(statement.body[0], s.Raise) or statement.body[0].cause is not None:
        return None
    is_exact = type(statement.test) is Flipped or not flips(statement.test)
    return _assertion(statement.body[0], lambda: negate(statement.test), asserts_read_global and is_exact)


def _assertion(statement: s.Raise, test: Callable[[], s.Expression], is_global: bool) -> Optional[s.Statement]:
    raised = statement.exc
    if _is_assertion_error(raised, is_global):
        return s.Assert(test(), None, origin=statement.origin)
    if isinstance(raised, s.Call) and _is_assertion_error(raised.func, is_global):
        if len(raised.args) == 1 and not raised.keywords and not isinstance(raised.args[0], s.Starred):
            return s.Assert(test(), raised.args[0], origin=statement.origin)
    return None


def _is_assertion_error(node: Optional[s.Expression], is_global: bool) -> bool:
    return isinstance(node, AssertionErrorName) or (
        is_global and isinstance(node, s.Name) and node.id == AssertionError.__name__
    )


def _join_try(statement: s.Try) -> None:
    """Make one statement of `try: (try: ... except: ...) finally: ...`."""
    if statement.finalbody and not statement.handlers and len(statement.body) == 1:
        inner = statement.body[0]
        if isinstance(inner, s.Try) and inner.handlers and not inner.finalbody:
            statement.body, statement.handlers, statement.orelse = inner.body, inner.handlers, inner.orelse


def _drop_final_returns(body: List[s.Statement]) -> None:
    """Drop `return None` where the function ends anyway."""
    work = [body]
    matches: List[s.Match] = []
    tries: List[Any] = []
    while work:
        current = work.pop()
        if current and _is_bare_return(current[-1]):
            current.pop()
            if current:
                work.append(current)
            continue
        if not current:
            continue
        last = current[-1]
        if isinstance(last, s.If):
            work.extend([last.body, last.orelse])
            if not last.body and not last.orelse:
                last.body.append(s.Pass())
        elif isinstance(last, s.Match):
            work.extend(case.body for case in last.cases)
            matches.append(last)
        elif isinstance(last, (s.With, s.AsyncWith)):
            work.append(last.body)
        elif isinstance(last, (s.Try, s.TryStar)):
            work.extend(handler.body for handler in last.handlers)
            work.append(last.orelse or last.body)
            tries.append(last)
    for statement in tries:
        for part in (statement.body, *(handler.body for handler in statement.handlers)):
            if not part:
                part.append(s.Pass())
        if isinstance(statement, s.Try):
            _join_try(statement)
    for match in matches:
        _fill_cases(match)


def _fill_cases(match: s.Match) -> None:
    """Drop a last `case _` that is empty; fill the others with `pass`."""
    final = match.cases[-1]
    if not final.body and final.guard is None and final.pattern is WILDCARD and len(match.cases) > 1:
        match.cases = match.cases[:-1]
    for case in match.cases:
        if not case.body:
            case.body.append(s.Pass())
