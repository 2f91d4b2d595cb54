"""The qualified names of functions where they are made (before 3.11): the constant on top of MAKE_FUNCTION's code.

From 3.11 on a code object has its qualified name itself.
"""

from __future__ import annotations

from types import CodeType
from typing import List, NamedTuple

from depyf.decompiler.bytecode.code_objects import facts_of
from depyf.decompiler.decode.instructions import Raw, raw_instructions


class MadeFunction(NamedTuple):
    """One MAKE_FUNCTION whose code and qualified name are constants."""

    make: Raw
    load_name: Raw  # its argument is the index of the qualified name
    code: int  # index of the code among the constants
    name: str


def made_functions(code: CodeType) -> List[MadeFunction]:
    """Return the functions that a code object makes, in order."""
    found = []
    raws = raw_instructions(code, facts_of(code).version)
    consts = code.co_consts
    for load_code, load_name, make in zip(raws, raws[1:], raws[2:]):
        if make.opname == "MAKE_FUNCTION" and load_code.opname == load_name.opname == "LOAD_CONST":
            if max(load_code.arg, load_name.arg) < len(consts) and isinstance(consts[load_name.arg], str):
                found.append(MadeFunction(make, load_name, load_code.arg, consts[load_name.arg]))
    return found
