"""The statements of modules and class bodies, without what the compiler adds around them.

A class body begins by storing `__module__` and `__qualname__`; a docstring is a store to `__doc__`.
"""

from __future__ import annotations

from typing import Any, List

from depyf.decompiler import syntax as s
from depyf.decompiler.build.annotated_names import with_annotations
from depyf.decompiler.build.private_names import unmangle
from depyf.decompiler.build.scope import Scope
from depyf.decompiler.build.tidying import bodies, own_statements

# What the compiler stores at the start and at the end of a class body.
_FIRST = frozenset({"__module__", "__qualname__", "__type_params__", "__classdict__", "__firstlineno__"})
_LAST = frozenset({"__static_attributes__"})


def namespace_body(scope: Scope, body: List[s.Statement]) -> List[s.Statement]:
    """Return the statements as they were written: without what the compiler adds, docstring first."""
    code = scope.code
    is_class = code.co_name != "<module>"
    if is_class:
        body = _without_additions(body)
    body = with_annotations(body, scope.annotations)
    if is_class:
        unmangle(body, code.co_name)
    if body and _stored(body[0]) == "__doc__":
        first = body[0]
        assert isinstance(first, s.Assign)
        if isinstance(first.value, s.Constant) and isinstance(first.value.value, str):
            body = [s.Expr(first.value, origin=first.origin), *body[1:]]
    if scope.annotations.are_set_up and not any(isinstance(node, s.AnnAssign) for node in own_statements(body)):
        # There was an annotation that is never reached.
        body.append(s.If(s.Constant(False), [s.AnnAssign(s.Name("__annotations__"), s.Constant(...))]))
    if scope.annotations.are_marked and not _has_conditional_annotation(body, is_class):
        # Of `(x): int` or `x.y: int`, which may not be reached, nothing is left but the set of those that are.
        body.append(s.If(s.Constant(False), [s.AnnAssign(s.Name("__annotations__"), s.Constant(...), None, 0)]))
    return body


def _has_conditional_annotation(body: List[s.Statement], is_class: bool) -> bool:
    """Return whether an annotation may not be reached; in a module that holds of all."""
    certain = {id(statement) for statement in body} if is_class else ()
    return any(isinstance(node, s.AnnAssign) and id(node) not in certain for node in own_statements(body))


def _without_additions(body: List[s.Statement]) -> List[s.Statement]:
    start, end = 0, len(body)
    waiting = set(_FIRST)
    while start < end and _stored(body[start]) in waiting:
        waiting.discard(_stored(body[start]))
        start += 1
    while start < end and _stored(body[end - 1]) in _LAST:
        end -= 1
    return body[start:end]


def _stored(statement: s.Statement) -> str:
    """Return `x` for the statement `x = ...`, empty for any other."""
    if not isinstance(statement, s.Assign) or len(statement.targets) != 1:
        return ""
    target: Any = statement.targets[0]
    return str(target.id) if isinstance(target, s.Name) else ""


def drop_returns(body: List[s.Statement]) -> None:
    """Drop the returns with which a module or class body ends, in place; in a loop that ends it they become breaks."""
    work = [body]
    while work:
        current = work.pop()
        while current and isinstance(current[-1], s.Return) and current[-1].value is None:
            current.pop()
        last = current[-1] if current else None
        if isinstance(last, (s.Try, s.TryStar)):
            work.extend([*(handler.body for handler in last.handlers), last.orelse or last.body])
        elif isinstance(last, (s.For, s.While, s.AsyncFor)):
            _break_loop(last.body)
            work.append(last.orelse)
        elif last is not None:
            work.extend(bodies(last))


def _break_loop(body: List[s.Statement]) -> None:
    """Make the returns of a loop's body breaks, where they are not in a loop inside it."""
    work = [body]
    while work:
        current = work.pop()
        for position, statement in enumerate(current):
            if isinstance(statement, s.Return) and statement.value is None:
                current[position] = s.Break(origin=statement.origin)
            elif isinstance(statement, (s.For, s.While, s.AsyncFor)):
                work.append(statement.orelse)
            else:
                work.extend(bodies(statement))


def future_imports(body: List[s.Statement]) -> int:
    """Count the statements at the start of a module that are its docstring and imports from `__future__`."""
    count = 0
    for position, statement in enumerate(body):
        is_docstring = position == 0 and isinstance(statement, s.Expr) and isinstance(statement.value, s.Constant)
        if not is_docstring and not (isinstance(statement, s.ImportFrom) and statement.module == "__future__"):
            break
        count += 1
    return count
