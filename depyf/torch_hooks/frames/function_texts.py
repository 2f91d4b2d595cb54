"""Texts of functions that no file has, such as resume functions: the decompiler's, made once for codes that are equal.

Dynamo makes the resume functions of a function anew where the function is defined again, and after a reset.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, Tuple

from depyf.problems import Problems
from depyf.record.vocabulary import DECOMPILED, DISASSEMBLY, LISTED, MISSING, SourceOrigin
from depyf.torch_hooks.frames.decompiled_text import decompile_or_list

_PLAIN = frozenset({int, str, bytes, bool, float, type(None)})


class DecompiledTexts:
    """The texts of one session."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._known: Dict[Tuple[object, ...], str] = {}  # of codes that are equal in all but their file

    def of(self, code: CodeType) -> Tuple[str, SourceOrigin]:
        """Return the text of a function, and what kind of text it is."""
        key = _key(code)
        known = self._known.get(key) if key else None
        if known is not None:
            return known, DECOMPILED
        with self._problems.shield("decompiling a function that has no source text"):
            result = decompile_or_list(code, None, "<depyf>", {}, {}, self._problems)
            if result.rung == DISASSEMBLY:
                return result.source, LISTED
            if key:
                self._known[key] = result.source
            return result.source, DECOMPILED
        return "", MISSING


def _key(code: CodeType) -> Tuple[object, ...]:
    """Return a key that is equal for codes that have one text; empty for codes that cannot be compared.

    Codes are compared without their tables in some versions, and so are those inside them. Constants of other types may
    run the user's code when they are hashed.
    """
    if not all(map(_is_plain, code.co_consts)):
        return ()
    lines = getattr(code, "co_linetable", None)
    return code, code.co_lnotab if lines is None else lines, getattr(code, "co_exceptiontable", b"")


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) is tuple and all(map(_is_plain, value)))
