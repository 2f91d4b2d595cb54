"""Other Pythons: an interpreter of another version, found or given, that compiles texts for the proof.

`compiler_for((3, 12))` starts one and yields what `recompile` takes for a compiler; None where there is no interpreter
of that version. The child only compiles: nothing of a file or of its text ever runs.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, Optional

from depyf.decompiler.bytecode.python_facts import Version
from depyf.decompiler.other_pythons.child_compiler import ChildCompiler
from depyf.decompiler.other_pythons.python_search import candidates
from depyf.decompiler.recompile import Compiler
from depyf.errors import UserError

__all__ = ["compiler_for"]


@contextmanager
def compiler_for(version: Version, python: Optional[str] = None) -> Iterator[Optional[Compiler]]:
    """Yield a compiler of that version, in a child process that ends with the context; None if there is no such Python.

    `python`: the path or name of the interpreter; without it, those of pyenv and on the PATH are tried. Raises
    UserError if the one that was given is no CPython of that version.
    """
    for path in candidates(version) if python is None else (python,):
        child = ChildCompiler(path, version)
        if child.starts():
            with child:
                yield child
            return
    if python is not None:
        raise UserError(f"{python} is no CPython {version[0]}.{version[1]} that runs")
    yield None
