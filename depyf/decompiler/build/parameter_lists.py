"""The head of a function: its parameters with their defaults and annotations, and its docstring."""

from __future__ import annotations

from types import CodeType
from typing import Callable, Optional, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_flags import CO_VARARGS, CO_VARKEYWORDS
from depyf.decompiler.bytecode.docstrings import docstring_in
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import spelled

Written = Callable[[s.Expression], s.Expression]


def docstring_of(code: CodeType) -> Optional[str]:
    """Return the docstring of a function made from `code`."""
    return None if code.co_name.startswith("<") else docstring_in(code)


def parameters(
    code: CodeType, parts: Sequence[Optional[s.Expression]] = (None, None, None), write: Written = lambda node: node
) -> s.arguments:
    """Return the parameter list of a code object, with defaults and annotations where they are known.

    `write` returns the expression to write for the value of an annotation.
    """
    defaults, kwdefaults, annotations = parts

    def argument(name: str) -> s.arg:
        return s.arg(spelled(name), annotation(annotations, name, write))

    names = code.co_varnames
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    position = positional + keyword_only
    star = double_star = None
    if code.co_flags & CO_VARARGS:
        star = argument(names[position])
        position += 1
    if code.co_flags & CO_VARKEYWORDS:
        double_star = argument(names[position])
    keyword_names = names[positional : positional + keyword_only]
    return s.arguments(
        [argument(name) for name in names[: code.co_posonlyargcount]],
        [argument(name) for name in names[code.co_posonlyargcount : positional]],
        star,
        [argument(name) for name in keyword_names],
        [keyword_default(kwdefaults, name) for name in keyword_names],
        double_star,
        list(elements(defaults)),
    )


def elements(node: Optional[s.Expression]) -> Sequence[s.Expression]:
    """Return the elements of a tuple expression."""
    if node is None:
        return ()
    if isinstance(node, s.Tuple):
        return node.elts
    if isinstance(node, s.Constant) and isinstance(node.value, tuple):
        return [s.Constant(item) for item in node.value]
    raise Unstructured("default values of an unknown form")


def keyword_default(node: Optional[s.Expression], name: str) -> Optional[s.Expression]:
    """Return the default of a keyword-only parameter."""
    if node is None:
        return None
    if isinstance(node, s.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, s.Constant) and key.value == name:
                return value
        return None
    raise Unstructured("keyword defaults of an unknown form")


def annotation(node: Optional[s.Expression], name: str, write: Written = lambda node: node) -> Optional[s.Expression]:
    """Return the annotation of a parameter, from the names and values that MAKE_FUNCTION takes.

    They are a tuple, or a dict (before 3.10).
    """
    if node is None:
        return None
    if isinstance(node, s.Dict):
        pairs = zip(node.keys, node.values)
    else:
        flat = elements(node)
        pairs = zip(flat[0::2], flat[1::2])
    for key, value in pairs:
        if isinstance(key, s.Constant) and key.value == name:
            return write(value)
    return None
