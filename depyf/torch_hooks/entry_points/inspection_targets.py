"""Find the code objects that are meant by what a user passes to `inspect`."""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FunctionType, MethodType
from typing import Any, Dict, Iterator, List

from depyf.errors import UserError
from depyf.text.articles import with_article
from depyf.torch_hooks.frames import identities
from depyf.torch_hooks.frames.identities import Identity

_MOST_WRAPPERS = 100  # one inside the other; more is a cycle


def codes_of(target: Any) -> List[CodeType]:
    """Return the code objects that compiling `target` may have compiled, the most likely one first.

    Functions, lambdas, methods, partial objects, code objects, what torch.compile returns (wrappers of functions
    and compiled modules), modules with all modules inside them, and objects that can be called.  UserError for
    anything that holds no Python code.
    """
    codes = list({id(code): code for code in _codes(target, 0)}.values())
    if not codes:
        what = with_article(type(target).__name__)
        raise UserError(
            f"depyf.inspect shows what torch.compile made of Python code, and {what} holds none: "
            "give it a function, a method, a module, what torch.compile returned, or a code object"
        )
    return codes


def identities_of(target: Any) -> Dict[int, Identity]:
    """Return what the functions of `codes_of` are called, by the ids of their codes, as far as `target` has them."""
    named: Dict[int, Identity] = {}
    for thing in (*(target.modules() if _is_module(target) else ()), target):
        named.update(identities.by_code(thing))
    return named


def _codes(target: Any, depth: int) -> Iterator[CodeType]:
    if depth > _MOST_WRAPPERS:
        return
    if isinstance(target, CodeType):
        yield target
    elif isinstance(target, functools.partial):
        yield from _codes(target.func, depth + 1)
    elif isinstance(target, (MethodType, staticmethod, classmethod)):
        yield from _codes(target.__func__, depth + 1)
    elif isinstance(target, FunctionType):
        inner = vars(target).get("_torchdynamo_orig_callable")
        if inner is not None:
            yield from _codes(inner, depth + 1)
        else:
            yield target.__code__
            yield from _codes(vars(target).get("__wrapped__"), depth + 1)
    elif _is_module(target):
        yield from _codes_of_module(target, depth)
    elif callable(target) and not isinstance(target, type):
        yield from _codes(inspect.getattr_static(type(target), "__call__"), depth + 1)


def _is_module(target: Any) -> bool:
    import torch

    return isinstance(target, torch.nn.Module)


def _codes_of_module(module: Any, depth: int) -> Iterator[CodeType]:
    """Yield the code of a module, or of the wrapper around it, and of the modules inside, compiled after breaks."""
    original = vars(module).get("_modules", {}).get("_orig_mod")
    if original is not None:  # what torch.compile(module) returns
        yield from _codes(original, depth + 1)
        yield from _codes(vars(module).get("forward"), depth + 1)
        return
    for inner in module.modules():
        yield from _codes(vars(inner).get("forward") or type(inner).forward, depth + 1)
        yield from _codes(vars(inner).get("_compiled_call_impl"), depth + 1)
