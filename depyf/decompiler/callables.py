"""Callables: find the Python functions behind objects that have no bytecode of their own.

Shown is the first Python function that a call of the object runs. What the standard library and torch put around a
function is skipped (`partial`, `lru_cache`, `contextmanager`, `torch.compile` ...); a wrapper that anyone else
wrote is itself the function that runs, so it is shown, and what it wraps is named.
"""

from __future__ import annotations

import inspect
import sys
import types
from functools import cached_property, partial, partialmethod, singledispatchmethod
from typing import Any, Callable, NamedTuple, Optional, Tuple

from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.code_search import is_path
from depyf.text.lines import printable

_MOST_WRAPPERS = 100  # one inside the other; more is a cycle
_NOTHING = object()
_OWN_CODE = ("__code__", "gi_code", "cr_code", "ag_code", "f_code")
_METHODS = (types.MethodType, staticmethod, classmethod)
_HOLDERS = (partial, partialmethod, singledispatchmethod, cached_property)
_PROPERTIES = (property, types.DynamicClassAttribute)
_WRITTEN_IN_C = (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType)
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_STANDARD_LIBRARY = frozenset(getattr(sys, "stdlib_module_names", ("contextlib", "dataclasses", "functools")))

Unwrap = Callable[[Any], Any]


class Behind(NamedTuple):
    """What stands behind an object that can be called."""

    things: Tuple[Any, ...]  # functions, or whatever else has code: several for a property, else one
    wrapped: Any = None  # what the function that is shown wraps, if it is a wrapper


def behind(thing: Any, unwrap: Unwrap, *, through_wrappers: bool = False) -> Behind:
    """Return the function that a call of `thing` runs first, or `thing` itself where it has code or nothing has.

    `unwrap` returns what some library put its own wrapper around, or its argument. With `through_wrappers`, every
    wrapper with a `__wrapped__` is skipped, whoever wrote it. TypeError for wrappers in a cycle.
    """
    wrapped = None
    for _ in range(_MOST_WRAPPERS):
        if isinstance(thing, _PROPERTIES):
            parts = [part for part in (thing.fget, thing.fset, thing.fdel) if part is not None]
            found = [behind(part, unwrap, through_wrappers=through_wrappers) for part in parts]
            return Behind(tuple(one for each in found for one in each.things) or (thing,), None)
        inner = unwrap(thing)
        if inner is thing:
            own = _wrapped(thing)
            inner = own if through_wrappers and own is not None else _inside(thing)
            wrapped = own if own is not None and inner is not own else wrapped
        if inner is None:
            return Behind((thing,), wrapped)
        thing = inner
    raise TypeError(f"depyf can decompile functions, not a {type(thing).__name__} that wraps itself")


def _inside(thing: Any) -> Any:
    """Return what a call of `thing` calls, where its own code is not to be shown or not Python; else None."""
    if isinstance(thing, _METHODS):
        return thing.__func__
    if isinstance(thing, _HOLDERS):
        return thing.func
    if isinstance(thing, types.FunctionType):
        return _behind_library_function(thing) if _is_of_standard_library(thing) else None
    if _has_code(thing):
        return None
    call = inspect.getattr_static(type(thing), "__call__", None)
    wrapped = _wrapped(thing)
    if call is None or isinstance(call, _WRITTEN_IN_C) or (wrapped is not None and _is_library_function(call)):
        return wrapped
    return call


def _wrapped(thing: Any) -> Any:
    """Return the `__wrapped__` that `functools.wraps` gave to an object; not that of its type (a static method)."""
    found = inspect.getattr_static(thing, "__wrapped__", None)
    if isinstance(found, property):  # of a method of functools.singledispatchmethod, since Python 3.14
        read: Any = found.fget
        return read(thing) if _is_library_function(read) else None
    return None if isinstance(found, _SLOTS) else found


def _behind_library_function(function: types.FunctionType) -> Any:
    """Return what a function of the standard library was put around; a partial method read from its class is one."""
    names = ("__wrapped__", "__partialmethod__", "_partialmethod")  # the last one before Python 3.13
    return next((function.__dict__[name] for name in names if name in function.__dict__), None)


def _is_library_function(thing: Any) -> bool:
    return isinstance(thing, types.FunctionType) and _is_of_standard_library(thing)


def _is_of_standard_library(function: types.FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).split(".")[0] in _STANDARD_LIBRARY


def _has_code(thing: Any) -> bool:
    if isinstance(thing, (*CODE_TYPES, types.ModuleType, type)) or is_path(thing):
        return True
    return any(inspect.getattr_static(thing, name, _NOTHING) is not _NOTHING for name in _OWN_CODE)


def note_on_wrapper(found: Behind) -> str:
    """Return a comment that names what the function shown wraps; empty where it is no wrapper."""
    if found.wrapped is None:
        return ""
    name: Optional[str] = getattr(found.wrapped, "__qualname__", None)
    what = printable(name) if isinstance(name, str) else f"a {type(found.wrapped).__name__}"
    return f"# This is a wrapper around {what}, which is its attribute __wrapped__.\n"
