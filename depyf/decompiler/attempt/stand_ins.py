"""Stand-ins: names in the text for what no source can spell, constants as well as names."""

from __future__ import annotations

from types import CodeType
from typing import Any, Dict, List, Mapping, Optional, Tuple

from depyf.decompiler.build import mangled
from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.syntax.identifiers import spelled
from depyf.text.stable_repr import describe


def described(constants: Mapping[str, Any]) -> Tuple[str, ...]:
    """Return one line for each constant that a name stands for in the text."""
    return tuple([f"{name} is {describe(value)}" for name, value in constants.items()])


def implicit_names(code: CodeType) -> Dict[str, str]:
    """Return the stand-ins of names that no source can spell, each with the name itself.

    Inside a class the compiler mangles a stand-in as a private name.
    """
    found: Dict[str, str] = {}
    work: List[Tuple[CodeType, Optional[str]]] = [(code, None)]
    while work:
        current, class_name = work.pop()
        if not current.co_flags & CO_OPTIMIZED and current.co_name != "<module>":
            class_name = current.co_name
        for name in (*current.co_varnames, *current.co_cellvars, *current.co_freevars, *current.co_names):
            if spelled(name) != name:
                found[mangled(spelled(name), class_name)] = name
        work.extend((const, class_name) for const in current.co_consts if isinstance(const, CODE_TYPES))
    return found
