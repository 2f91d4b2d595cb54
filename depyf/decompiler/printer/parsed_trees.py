"""Parsed trees: the text of a tree of Python's own `ast`, also on 3.8, which has no `ast.unparse`."""

from __future__ import annotations

import ast
from typing import Any

from depyf.decompiler import syntax
from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION
from depyf.decompiler.printer import print_source
from depyf.decompiler.printer.syntax_limits import SyntaxLimits

_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&",
    "UAdd": "+", "USub": "-", "Invert": "~", "Not": "not", "And": "and", "Or": "or",
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
    "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip


def from_ast(value: Any) -> Any:
    """Return a tree of `ast` as one of ours, by the names of classes and fields."""
    if isinstance(value, list):
        return [from_ast(item) for item in value]
    if not isinstance(value, ast.AST):
        return value
    name = type(value).__name__
    if name in _OPERATORS:
        return _OPERATORS[name]
    if name == "Index":  # 3.8
        return from_ast(value.value)  # type: ignore[attr-defined]
    if name == "ExtSlice":  # 3.8
        return syntax.Tuple(from_ast(value.dims))  # type: ignore[attr-defined]
    cls = getattr(syntax, name)
    return cls(**{field: from_ast(getattr(value, field)) for field in value._fields if field in cls.__slots__})


def text_of(tree: ast.AST) -> str:
    """Return the text of a module, statement or expression, as the running Python reads it."""
    return print_source(from_ast(tree), features=SyntaxLimits.of(RUNNING_VERSION)).text
