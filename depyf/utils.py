"""Small helpers that programs written for depyf 0.20 import."""

from __future__ import annotations

import os
from functools import partial
from types import CodeType, MethodType
from typing import Any


def decompile_ensure(fn: CodeType, overwite_fn_name: str | None = None) -> str:
    """Return the source of a code object, or a listing of its instructions in comments where no source is proved.

    `overwite_fn_name` (spelled as callers spell it) is the name to give the function in the text.
    """
    from depyf.decompiler import DecompilationError, decompile
    from depyf.decompiler.printer.listing import annotated_disassembly

    code = fn if overwite_fn_name is None else fn.replace(co_name=overwite_fn_name)
    try:
        return decompile(code)
    except DecompilationError:
        return annotated_disassembly(code, {})[0]


def get_code_owner(fn: Any) -> Any:
    """Return the function whose `__code__` can be replaced so that calling `fn` runs the new code.

    That is the function behind a bound method, a partial or a wrapper of torch.compile, or `fn` itself.
    """
    while True:
        if isinstance(fn, MethodType):
            fn = fn.__func__
        elif isinstance(fn, partial):
            fn = fn.func
        elif callable(getattr(fn, "_torchdynamo_orig_callable", None)):
            fn = fn._torchdynamo_orig_callable
        else:
            return fn


def safe_create_directory(path: str) -> None:
    """Create a directory and its parents, unless it exists; FileExistsError when it is a file."""
    os.makedirs(path, exist_ok=True)
