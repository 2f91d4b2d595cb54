"""Give generated functions the file name and the line numbers of their file on disk.

Only functions that a compiler generated are changed: the forward of an fx module, and the functions of a
kernel module of Inductor's.  The instructions stay; `function.__code__` is replaced by one with another file
name and line table, so that all references to the function are linked at once.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FunctionType
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from depyf.decompiler.bytecode.code_flags import CO_METHOD
from depyf.decompiler.prove import Grade, prove
from depyf.decompiler.recompile.relabelling import adopt_lines
from depyf.text.quiet_compile import compile_quietly
from depyf.torch_hooks.graphs.short_names import named_like, with_parameters_of
from depyf.torch_hooks.internals import private_hooks


def forward_of(module: Any, *, generate: bool) -> FunctionType | None:
    """Return the generated forward of a graph module; None if it has none.

    `generate`: have it generated now if torch has not yet; torch does so when a module is first called.
    """
    recompile = private_hooks.find("force_recompile") if generate else None
    if recompile is not None:
        recompile(module)
    forward = vars(type(module)).get("forward")
    if not isinstance(forward, FunctionType) or forward is getattr(type(module), _NOT_YET, None):
        return None
    return forward if _is_generated(forward) else None  # else a backend has put a function of its own there


def _is_generated(function: FunctionType) -> bool:
    """Return whether fx compiled a function: its text is known, or it belongs to no module and is linked."""
    is_linked = "__name__" not in function.__globals__ and os.path.isabs(function.__code__.co_filename)
    return bool(source_of(function)) or is_linked


def source_of(function: FunctionType) -> str:
    """Return the text that fx compiled a function from; empty where fx did not, or the function is linked already."""
    text = (private_hooks.find("fx_sources") or {}).get(function.__code__.co_filename)
    return text if isinstance(text, str) else ""


_NOT_YET = "_lazy_forward"  # torch's forward of a module whose own is not generated yet


def compiled_by_fx(functions: Iterable[FunctionType]) -> List[FunctionType]:
    """Return the functions that have code of fx's and are not linked."""
    sources = private_hooks.find("fx_sources") or {}
    return [function for function in functions if function.__code__.co_filename in sources]


def forwards_in(text: str, path: str) -> List[CodeType]:
    """Return the code of each `forward` in the text of a graph, as it would be compiled from `path`."""
    try:
        compiled = compile_quietly(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_named_forward(compiled))


def _named_forward(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == "forward":
                yield constant
            yield from _named_forward(constant)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Return whether the two have the same instructions, names and constants; files and lines may differ."""
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_argcount == other.co_argcount
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_same_constant, one.co_consts, other.co_consts))
    )


def _same_constant(one: Any, other: Any) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return same_code(one, other)
    return type(one) is type(other) and (one is other or repr(one) == repr(other))


def like_twin(code: CodeType, twins: Sequence[CodeType]) -> Tuple[int, CodeType] | None:
    """Return the index of the twin that has the same code, and `code` with its file and lines; None without such.

    CPython 3.13 joins two loads into one instruction only where both are on one line, and torch may log on many
    lines what it compiles on one: such a twin, proved to be the same program, replaces the code. Torch logs a method
    of a class where it compiles a function: CPython 3.14 flags it.
    """
    renamed = [named_like(code, twin) or code if code.co_varnames != twin.co_varnames else code for twin in twins]
    for number, (own, twin) in enumerate(zip(renamed, twins)):
        if same_code(own, twin):
            return number, with_parameters_of(code, adopt_lines(own, twin))
    for number, (own, twin) in enumerate(zip(renamed, twins)):
        if _is_same_but_for_joins(own, twin):
            return number, with_parameters_of(code, twin.replace(co_flags=code.co_flags))
    return None


def _is_same_but_for_joins(one: CodeType, other: CodeType) -> bool:
    return (
        (one.co_names, one.co_varnames) == (other.co_names, other.co_varnames)
        and one.co_flags | CO_METHOD == other.co_flags | CO_METHOD
        and one.co_code != other.co_code
        and not other.co_freevars
        and prove(one, other).grade is Grade.PROVED
    )


def is_compiled_by_dynamo(code: CodeType) -> bool:
    """Return whether Dynamo has compiled versions of the code: a function that got another would be compiled again."""
    entries = private_hooks.find("cache_entries")
    return entries is not None and bool(entries(code))


def functions_loaded_from(path: str) -> List[FunctionType]:
    """Return the functions of the generated module that was loaded from `path`; none when it is not loaded."""
    for module in list(sys.modules.values()):
        if path and getattr(module, "__file__", None) == path:
            return list(functions_of(vars(module)))
    return []


def functions_of(namespace: Dict[str, Any]) -> Iterator[FunctionType]:
    """Yield the functions that a module defines, in its classes too; not those that it imports."""
    for value in list(namespace.values()):
        members = vars(value).values() if type(value) is type else (value,)
        for member in members:
            if type(member) is FunctionType and member.__globals__ is namespace:
                yield member


def is_linked_into(function: FunctionType, folder: str) -> bool:
    """Return whether the function is linked to a file of that folder."""
    return os.path.dirname(function.__code__.co_filename) == folder
