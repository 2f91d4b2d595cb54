"""The statement around a body: `def`, `async def`, `lambda` or `class`, with what the function object adds."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Dict, List, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build import Settings, annotation_nodes, as_expression, parameters, type_parameters, value_node
from depyf.decompiler.bytecode.code_flags import ASYNC_FUNCTIONS, CO_OPTIMIZED
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import shown_name
from depyf.text.quiet_compile import compile_quietly

_OF_ALIASES = (".format",)  # the parameter of functions that compute what an alias, bound or default stands for: 3.14


def outer_statement(
    code: CodeType, body: List[s.Statement], settings: Settings, function: Optional[FunctionType]
) -> s.Statement:
    """Return the statement that makes a function or class with this body.

    `function`: the function object, if there is one; its default values and annotations are shown.
    """
    if code.co_name == "<lambda>":
        try:
            return s.Expr(s.Lambda(_parameters(code, settings, function), as_expression(body)), origin=0)
        except Unstructured:
            pass  # no compiler made this lambda: it has statements
    name = shown_name(code.co_name)
    if code.co_varnames[: code.co_argcount] == _OF_ALIASES:
        try:
            return s.TypeAlias(s.Name(name), [], as_expression(body), origin=0)
        except Unstructured:
            pass
    if not code.co_flags & CO_OPTIMIZED:
        return s.ClassDef(name, [], [], body, (), type_parameters(code), origin=0)
    make = s.AsyncFunctionDef if code.co_flags & ASYNC_FUNCTIONS else s.FunctionDef
    returns = _annotations(settings, function).get("return")
    return make(name, _parameters(code, settings, function), body or [s.Pass()], (), returns, origin=0)


def _parameters(code: CodeType, settings: Settings, function: Optional[FunctionType]) -> s.arguments:
    """Return the parameter list, with the defaults and annotations of the function if there is one."""
    shown = parameters(code)
    if function is None:
        return shown
    defaults, keyword_defaults = function.__defaults__ or (), function.__kwdefaults__ or {}
    known = _globals(function)
    shown.defaults = [value_node(value, known, settings.placeholders) for value in defaults]
    shown.kw_defaults = [
        value_node(keyword_defaults[arg.arg], known, settings.placeholders) if arg.arg in keyword_defaults else None
        for arg in shown.kwonlyargs
    ]
    if code.co_name != "<lambda>":
        annotations = _annotations(settings, function)
        for arg in (*shown.posonlyargs, *shown.args, shown.vararg, *shown.kwonlyargs, shown.kwarg):
            if arg is not None:
                arg.annotation = annotations.get(arg.arg)
    return shown


def _annotations(settings: Settings, function: Optional[FunctionType]) -> Dict[str, s.Expression]:
    """Return the annotations: a class by its name where a global has it, other values as constants.

    Those that a function computes when they are asked for (3.14) are read from its code: nothing of the user's runs.
    """
    if function is None:
        return {}
    computes = getattr(function, "__annotate__", None)
    if computes is not None:
        try:
            return annotation_nodes(computes.__code__, settings) if isinstance(computes, FunctionType) else {}
        except (Unstructured, ValueError):
            return {}
    known = _globals(function)
    return {name: _annotation(value, known, settings) for name, value in function.__annotations__.items()}


def _annotation(value: Any, known: Dict[str, Any], settings: Settings) -> s.Expression:
    """Return the node of an annotation; of a string its text, where a string is made of that again."""
    if settings.imports_annotations and isinstance(value, str) and _is_expression(value):
        return s.Name(value)  # the text itself
    return value_node(value, known, settings.placeholders)


def _is_expression(text: str) -> bool:
    try:
        return compile_quietly(f"({text})", "<depyf>", "eval") is not None and "\n" not in text
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def _globals(function: FunctionType) -> Dict[str, Any]:
    """Return the globals that the head of a function can name: its free variables and its own name hide others."""
    hidden = {*function.__code__.co_freevars, function.__code__.co_name}
    if hidden.isdisjoint(function.__globals__):
        return function.__globals__
    return {name: value for name, value in function.__globals__.items() if name not in hidden}
