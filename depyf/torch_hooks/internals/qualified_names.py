"""Qualified names of code objects: `co_qualname`, and before Python 3.11, which has none, what the file has."""

from __future__ import annotations

import ast
import functools
import linecache
from types import CodeType
from typing import Any, Dict, List, Tuple

from depyf.text.quiet_compile import parse_quietly

_EXPRESSIONS: Dict[type, str] = {  # that have code of their own -> its name
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_SCOPES: Tuple[Any, ...] = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *_EXPRESSIONS)


def qualified_name(code: CodeType) -> str:
    """Return `Model.forward` for the code of a method; the plain name where neither the code nor its file has more."""
    known = getattr(code, "co_qualname", None)
    if known is not None:
        return str(known)
    names = _names_in("".join(linecache.getlines(code.co_filename)))
    return names.get((code.co_name, code.co_firstlineno)) or code.co_name


@functools.lru_cache(maxsize=64)
def _names_in(text: str) -> Dict[Tuple[str, int], str]:
    """Return the qualified name of each function in a text, by its name and first line; empty where two share both."""
    found: Dict[Tuple[str, int], str] = {}
    try:
        waiting: List[Tuple[Any, str]] = [(parse_quietly(text), "")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    while waiting:
        node, scope = waiting.pop()
        inner = scope
        if isinstance(node, _SCOPES):
            name = str(_EXPRESSIONS.get(type(node)) or getattr(node, "name", ""))
            if not isinstance(node, ast.ClassDef):
                decorators: List[ast.expr] = getattr(node, "decorator_list", [])
                key = (name, min([node.lineno, *(one.lineno for one in decorators)]))
                found[key] = "" if found.get(key, scope + name) != scope + name else scope + name
            inner = f"{scope}{name}." + ("" if isinstance(node, ast.ClassDef) else "<locals>.")
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found
