"""How a function is declared and called, from its source or from the bare names of its parameters."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Iterable, Sequence

from depyf.record.records import FrameRecord, FunctionRecord
from depyf.text import python_source


@dataclass(frozen=True)
class Signature:
    """Three views of the parameters of one function."""

    names: tuple[str, ...]  # all of them, as plain names
    parameters: str  # as declared, defaults elided: "x, *args, scale=..., **options"
    call: str  # as handed on: "x, *args, scale=scale, **options"


def signature_of(function: FunctionRecord, frames: Sequence[FrameRecord]) -> Signature:
    """Return the signature that the source of the function or of one of its compiled versions declares.

    Those are the same.  Where neither is to be had (a lambda that was never compiled), it is a plain one of
    the recorded names.
    """
    for source in (function.source, *(frame.source for frame in frames)):
        arguments = _declared(source, function.parameters)
        if arguments is not None:
            return _from_arguments(arguments)
    names = python_source.identifiers(function.parameters)
    return Signature(tuple(names), ", ".join(names), ", ".join(names))


def passed_names(function: FunctionRecord, texts: Iterable[str]) -> str:
    """Return what items of `*args` that these texts name are called by the function that gets them; empty for none."""
    if not function.passed_on:
        return ""
    name, *called = function.passed_on
    item = re.compile(rf"(?<![\w.]){re.escape(name)}\[(\d+)\]")
    numbers = sorted({int(number) for text in texts for number in item.findall(text)})
    return ", ".join([f"{name}[{number}] is {called[number]}" for number in numbers if number < len(called)])


def _declared(source: str, parameters: Sequence[str]) -> ast.arguments | None:
    """Return the arguments of the one function in `source`, if they are these parameters."""
    head = _PLAIN_HEAD.match(source)
    if head is not None and _MORE_CODE.search(source, head.end()) is None:  # no need to parse all of it
        source = f"{head[0]} ..."
    found = python_source.definition(source)
    if found is None or sorted(_names(found.args)) != sorted(parameters):
        return None
    return found.args


_PLAIN_HEAD = re.compile(rf"(?:async )?def (?!{python_source.ENCLOSING})\w+\([\w *,]*\):(?=[ \n])")
_MORE_CODE = re.compile(r"^[^\s#]", re.MULTILINE)  # besides that function


def _names(arguments: ast.arguments) -> list[str]:
    found = [argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return found + [argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None]


def _from_arguments(arguments: ast.arguments) -> Signature:
    declared: list[str] = []
    call: list[str] = []
    positional = arguments.posonlyargs + arguments.args
    first_default = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        declared.append(argument.arg + ("=..." if index >= first_default else ""))
        call.append(argument.arg)
        if index + 1 == len(arguments.posonlyargs):
            declared.append("/")
    if arguments.vararg is not None:
        declared.append("*" + arguments.vararg.arg)
        call.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        declared.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        declared.append(argument.arg + ("=..." if default is not None else ""))
        call.append(f"{argument.arg}={argument.arg}")
    if arguments.kwarg is not None:
        declared.append("**" + arguments.kwarg.arg)
        call.append("**" + arguments.kwarg.arg)
    return Signature(tuple(_names(arguments)), ", ".join(declared), ", ".join(call))
