"""Recompile: source text -> a code object that can replace the original.

text_compiler          compile the text, wrapped and restored so that the code is like the original
restoration            put back constants, names and nested code objects that no text can spell
cells, qualnames       the order of cell and free variables; the qualified names of classes
relabelling            keep the original's instructions and change only file name and lines
"""

from __future__ import annotations

from depyf.decompiler.recompile.restoration import CannotRecompile, share_nested
from depyf.decompiler.recompile.text_compiler import Compiler, compile_like, global_statement, running_compiler

__all__ = ["CannotRecompile", "Compiler", "compile_like", "global_statement", "running_compiler", "share_nested"]
