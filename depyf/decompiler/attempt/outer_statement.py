"""The statement around a body: `def`, `async def`, `lambda` or `class`, with what the function object adds."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Dict, List, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.build import Settings, as_expression, parameters, type_parameters, value_node
from depyf.decompiler.bytecode.code_flags import ASYNC_FUNCTIONS, CO_OPTIMIZED
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.syntax.identifiers import shown_name


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
    if not code.co_flags & CO_OPTIMIZED:
        return s.ClassDef(name, [], [], body, (), type_parameters(code), origin=0)
    make = s.AsyncFunctionDef if code.co_flags & ASYNC_FUNCTIONS else s.FunctionDef
    returns = _annotation("return", settings, function)
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
        for arg in (*shown.posonlyargs, *shown.args, shown.vararg, *shown.kwonlyargs, shown.kwarg):
            if arg is not None:
                arg.annotation = _annotation(arg.arg, settings, function)
    return shown


def _annotation(name: str, settings: Settings, function: Optional[FunctionType]) -> Optional[s.Expression]:
    """Return the annotation of a parameter: a class by its name where a global has it, other values as constants."""
    if function is None or name not in function.__annotations__:
        return None
    return value_node(function.__annotations__[name], _globals(function), settings.placeholders)


def _globals(function: FunctionType) -> Dict[str, Any]:
    """Return the globals that the head of a function can name: its free variables and its own name hide others."""
    hidden = {*function.__code__.co_freevars, function.__code__.co_name}
    if hidden.isdisjoint(function.__globals__):
        return function.__globals__
    return {name: value for name, value in function.__globals__.items() if name not in hidden}
