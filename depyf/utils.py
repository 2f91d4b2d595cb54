"""Small helpers that programs written for depyf 0.20 import."""

from __future__ import annotations

import os
from types import CodeType

from depyf.decompiler import get_code_owner
from depyf.decompiler.bytecode.nested_code import with_nested

__all__ = [
    "collect_all_code_objects",
    "decompile_ensure",
    "get_code_owner",
    "get_function_signature",
    "safe_create_directory",
]


def decompile_ensure(fn: CodeType, overwite_fn_name: str | None = None) -> str:
    """Return the source of a code object, or a listing of its instructions in comments where no source is proved.

    `overwite_fn_name` (spelled as callers spell it) is the name to give the function in the text.
    """
    from depyf.decompiler import DecompilationError, Decompiler
    from depyf.decompiler.printer.listing import annotated_disassembly

    code = Decompiler(fn).code
    try:
        return Decompiler(code).decompile(overwite_fn_name=overwite_fn_name)
    except DecompilationError:
        named = code if overwite_fn_name is None else code.replace(co_name=overwite_fn_name)
        return annotated_disassembly(named, {})[0]


def get_function_signature(code_obj: CodeType, overwite_fn_name: str | None = None) -> str:
    """Return the line that starts a definition with the parameters of a code object: `def f(a, /, b, *, c):`.

    A code object has no default values, so the line has none. `overwite_fn_name` (spelled as callers spell it) is the
    name to give the function; without one, a lambda is called `function_lambda`.
    """
    from depyf.decompiler.printer.listing import signature_line

    return signature_line(code_obj if overwite_fn_name is None else code_obj.replace(co_name=overwite_fn_name)) + "\n"


def collect_all_code_objects(code: CodeType) -> list[CodeType]:
    """Return a code object and all that are nested in it, each before those inside it, in the order of the source."""
    return list(with_nested(code))


def safe_create_directory(path: str) -> None:
    """Create a directory and its parents, unless it exists; FileExistsError when it is a file."""
    os.makedirs(path, exist_ok=True)
