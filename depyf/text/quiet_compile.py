"""Compiling text that is not the user's, without showing warnings about it.

`warnings.catch_warnings` is not used for that: it makes Python forget which warnings it has shown (they are shown
again), and it holds for all threads.  Here the filters stay as they are; what would be shown about our text, in this
thread, is dropped.  Where a filter makes errors of warnings, a text that does not compile is tried once more without.
"""

from __future__ import annotations

import ast
import threading
import warnings
from types import CodeType
from typing import Any

_lock = threading.RLock()
_OF_COMPILING = (SyntaxWarning, DeprecationWarning, FutureWarning)


def compile_quietly(text: str | bytes, filename: str, mode: str = "exec", **options: Any) -> CodeType:
    """Return `compile(text, filename, mode, dont_inherit=True, **options)`."""
    code: CodeType = _compiled(text, filename, mode, options)
    return code


def parse_quietly(text: str, mode: str = "exec") -> Any:
    """Return `ast.parse(text, mode=mode)`."""
    return _compiled(text, "<text>", mode, {"flags": ast.PyCF_ONLY_AST})


def _compiled(text: str | bytes, filename: str, mode: str, options: Any) -> Any:
    with _lock:
        own_thread, shown = threading.get_ident(), getattr(warnings, "_showwarnmsg", None)
        if shown is None:
            return _without_filters(text, filename, mode, options)

        def show(message: Any) -> None:
            is_ours = threading.get_ident() == own_thread and message.filename == filename
            if not is_ours or not issubclass(message.category, _OF_COMPILING):
                shown(message)

        warnings._showwarnmsg = show  # type: ignore[attr-defined]
        try:
            return compile(text, filename, mode, dont_inherit=True, **options)
        except SyntaxError:
            if not any(one[0] == "error" for one in warnings.filters):
                raise
        finally:
            if warnings._showwarnmsg is show:  # type: ignore[attr-defined]
                warnings._showwarnmsg = shown  # type: ignore[attr-defined]
        return _without_filters(text, filename, mode, options)


def _without_filters(text: str | bytes, filename: str, mode: str, options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, filename, mode, dont_inherit=True, **options)
