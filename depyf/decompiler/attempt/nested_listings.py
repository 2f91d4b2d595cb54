"""Functions inside a code object that are shown as instructions, because no text of them was proved."""

from __future__ import annotations

from types import CodeType
from typing import Container, Dict, List, Mapping

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.nested_code import is_part_of_statement
from depyf.decompiler.printer.listing import instructions_as_text


def listed_inside(code: CodeType, proved: Container[CodeType], renames: Mapping[str, str]) -> Dict[CodeType, List[str]]:
    """Return the lines of instructions of each function inside `code` that is not among the `proved` ones."""
    found: Dict[CodeType, List[str]] = {}
    for inner in code.co_consts:
        if isinstance(inner, CODE_TYPES) and inner not in proved:
            if inner.co_flags & CO_OPTIMIZED and not is_part_of_statement(inner):
                found[inner] = instructions_as_text(inner, renames)
            else:
                found.update(listed_inside(inner, proved, renames))
    return found
