"""Make a failing function small: drop statements and replace expressions while the same class of failure stays.

    smallest(source, name, line, failure_of, seconds) -> text or None
    smallest_module(source, is_wanted, seconds) -> text or None

`failure_of(code)` returns the class of failure of a code object, or None if it does not fail. Delta debugging over the
syntax tree (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): first the module is
reduced to what is around the function, then statements are dropped, compound statements are replaced by their bodies,
and expressions by their parts, until nothing can be dropped any more or the time is up.
"""

from __future__ import annotations

import ast
import time
import warnings
from types import CodeType
from typing import Any, Callable, Iterator, List, Optional

from depyf.decompiler.printer.parsed_trees import text_of

FailureOf = Callable[[CodeType], Optional[str]]
SMALL = (ast.Constant, ast.Name)
# Fields that can be dropped, and the value that each has then.
OPTIONAL = {
    "orelse": [], "finalbody": [], "decorator_list": [], "handlers": [], "keywords": [], "ifs": [],
    "returns": None, "annotation": None, "msg": None, "cause": None, "optional_vars": None, "vararg": None,
    "kwarg": None,
}  # fmt: skip


def smallest(source: str, name: str, line: int, failure_of: FailureOf, seconds: float) -> Optional[str]:
    """Return the smallest text found whose function `name` fails like the one at `line`; None if it does not fail.

    (A failure that depends on line breaks is lost when the tree is printed again.)
    """
    tree = ast.parse(source)
    wanted = next((failure_of(code) for code in codes(source, name) if code.co_firstlineno == line), None)
    if wanted is None:
        return None
    is_wanted = lambda text: any(failure_of(code) == wanted for code in codes(text, name))  # noqa: E731
    search = _Search(tree, is_wanted, time.monotonic() + seconds)
    search.keep_only(path_to(tree, name, line))
    if not search.fails():
        return None
    search.run()
    return text_of(tree)


def smallest_module(source: str, is_wanted: Callable[[str], bool], seconds: float) -> Optional[str]:
    """Return the smallest text found that is still wanted; None if the text is not."""
    tree = ast.parse(source)
    search = _Search(tree, is_wanted, time.monotonic() + seconds)
    if not search.fails():
        return None
    search.run()
    return text_of(tree)


def codes(source: str, name: str) -> Iterator[CodeType]:
    """Yield the code objects of this name in a text, the module itself included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work: List[Any] = [compile(source, "<minimised>", "exec", dont_inherit=True)]
    while work:
        code = work.pop()
        if code.co_name == name:
            yield code
        work.extend(const for const in code.co_consts if isinstance(const, CodeType))


def path_to(tree: ast.Module, name: str, line: int) -> List[ast.AST]:
    """Return the nodes from the module down to the definition (or the lambda or comprehension) on that line."""
    best: List[ast.AST] = [tree]
    work: List[List[ast.AST]] = [[tree]]
    while work:
        path = work.pop()
        node = path[-1]
        first = min([item.lineno for item in getattr(node, "decorator_list", [])] or [getattr(node, "lineno", -1)])
        if first == line and getattr(node, "name", name if name.startswith("<") else "") == name:
            best = path
        work.extend([[*path, child] for child in ast.iter_child_nodes(node)])
    return best


class _Search:
    def __init__(self, tree: ast.Module, is_wanted: Callable[[str], bool], end: float) -> None:
        self.tree = tree
        self.is_wanted = is_wanted
        self.end = end

    def fails(self) -> bool:
        """Return whether the tree still has a function that fails in the same way."""
        try:
            return self.is_wanted(text_of(self.tree))
        except (SyntaxError, ValueError, RecursionError, AttributeError, TypeError, LookupError):
            return False  # a change that left no valid program

    def keep_only(self, path: List[ast.AST]) -> None:
        """Drop the statements beside the path to the function, where the failure stays without them."""
        for node, child in zip(path, path[1:]):
            for field in ("body", "orelse", "finalbody", "handlers"):
                body = getattr(node, field, None)
                if isinstance(body, list) and child in body:
                    self.attempt(node, field, [child])
                elif isinstance(body, list) and body and field != "body":
                    self.attempt(node, field, [])

    def attempt(self, node: ast.AST, field: str, value: Any) -> bool:
        """Change one field; undo it unless the failure stays."""
        old = getattr(node, field)
        setattr(node, field, value)
        if time.monotonic() < self.end and self.fails():
            return True
        setattr(node, field, old)
        return False

    def run(self) -> None:
        """Apply all reductions until none applies."""
        changed = True
        while changed and time.monotonic() < self.end:
            changed = False
            for reduction in (self.drop_statements, self.drop_parts, self.hoist, self.shrink_expressions):
                for node in list(ast.walk(self.tree)):
                    changed |= reduction(node)

    def drop_statements(self, node: ast.AST) -> bool:
        """Drop halves of a body first, then smaller pieces, then single statements and elements."""
        changed = False
        for field, items in list(ast.iter_fields(node)):
            if not isinstance(items, list) or not items:
                continue
            size = len(items)
            while size:
                position = 0
                while position < len(getattr(node, field)):
                    now = getattr(node, field)
                    rest = now[:position] + now[position + size :]
                    if not rest and field == "body":
                        rest = [ast.Pass()]
                    is_new = len(rest) < len(now) or not isinstance(now[0], ast.Pass)
                    if is_new and self.attempt(node, field, rest):
                        changed = True
                    else:
                        position += size
                size //= 2
        return changed

    def drop_parts(self, node: ast.AST) -> bool:
        """Drop else clauses, handlers, decorators, annotations, messages."""
        changed = False
        for field, nothing in OPTIONAL.items():
            if getattr(node, field, None):
                changed |= self.attempt(node, field, list(nothing) if isinstance(nothing, list) else nothing)
        return changed

    def hoist(self, node: ast.AST) -> bool:
        """Replace a compound statement by its body."""
        changed = False
        for field in ("body", "orelse", "finalbody"):
            position = 0
            while isinstance(getattr(node, field, None), list) and position < len(getattr(node, field)):
                body = getattr(node, field)
                inner = [part for part in inner_bodies(body[position]) if part]
                if any(self.attempt(node, field, [*body[:position], *part, *body[position + 1 :]]) for part in inner):
                    changed = True
                else:
                    position += 1
        return changed

    def shrink_expressions(self, node: ast.AST) -> bool:
        """Replace an expression by a name or by one of its own parts."""
        changed = False
        for field, value in list(ast.iter_fields(node)):
            if isinstance(value, ast.expr):
                new = next((part for part in parts(value) if self.attempt(node, field, part)), None)
                changed |= new is not None
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    before, after = value[:index], value[index + 1 :]
                    smaller = parts(item) if isinstance(item, ast.expr) else iter(())
                    changed |= any(self.attempt(node, field, [*before, part, *after]) for part in smaller)
                    value = getattr(node, field)
        return changed


def inner_bodies(statement: ast.AST) -> Iterator[List[ast.stmt]]:
    """Yield the bodies that may replace a compound statement."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    for field in ("body", "orelse", "finalbody"):
        if isinstance(getattr(statement, field, None), list):
            yield getattr(statement, field)
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def parts(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that may replace an expression, the smallest first."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        if not isinstance(node, ast.Name):
            yield ast.Name("x", ast.Store())
        return
    if isinstance(node, SMALL):
        return
    yield ast.Name("x", ast.Load())
    for child in ast.iter_child_nodes(node):
        if type(child).__name__ == "Index":  # around what is in the brackets: Python 3.8
            child = child.value  # type: ignore[attr-defined]
        if isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
            yield child
