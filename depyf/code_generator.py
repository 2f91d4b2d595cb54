"""Code generators: what made a code object, and which names in it are the maker's own.

CPython's compiler invents no names. Other code generators do: the caller of the decompiler describes one by a
`CodeGenerator`. No other is built in.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Callable, Optional, Tuple


def _no_locals(code: CodeType) -> Tuple[str, ...]:
    return ()


def _no_name(name: str) -> str:
    return ""


@dataclass(frozen=True)
class CodeGenerator:
    """The names that one code generator adds to what its user wrote."""

    # Whether a global was installed by the generator: it keeps its value while a frame runs. None: no global was.
    constant_globals: Optional[Callable[[str], bool]] = None
    # The locals of a code object that the generator sets for itself; no code reads them.
    own_locals: Callable[[CodeType], Tuple[str, ...]] = _no_locals
    # A better name for a local of the generator's that the text would call so after its value; empty: none.
    short_name: Callable[[str], str] = _no_name


COMPILER = CodeGenerator()  # CPython's own
