"""The fields of one code object as plain data, whatever version of Python made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple

from depyf.decompiler.bytecode.python_facts import Version


@dataclass(frozen=True, eq=False)
class CodeRecord:
    """One code object as a file has it; only the types of the fields were checked."""

    version: Version
    at: int  # the byte of the file at which it begins
    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    stacksize: int
    flags: int
    code: bytes
    consts: Tuple[Any, ...]  # code objects among them are records
    names: Tuple[str, ...]
    varnames: Tuple[str, ...]
    cellvars: Tuple[str, ...]
    freevars: Tuple[str, ...]
    filename: str
    name: str
    qualname: str  # before 3.11 the same as `name`
    firstlineno: int
    linetable: bytes  # in the format of its version; `co_lnotab` before 3.10
    exceptiontable: bytes  # empty before 3.11
