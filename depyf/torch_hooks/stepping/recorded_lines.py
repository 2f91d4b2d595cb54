"""Recorded lines: those of kernels' Python that ran while a CUDA graph was recorded, and that no replay of it runs."""

from __future__ import annotations

import ast
import os
from typing import Dict, Sequence, Set

from depyf.line_table.folders import FolderTable

WHY_NOT = "it is recorded in a CUDA graph, whose replay runs no Python; debug(backend='eager') can stop there"


class RecordedLines:
    """Answers whether a line of a dumped file is inside a function that is recorded."""

    def __init__(self, tables: Sequence[FolderTable]) -> None:
        self._functions: Dict[str, Set[str]] = {}  # file -> names of the functions
        self._lines: Dict[str, Set[int]] = {}
        for one in tables:
            for kernel in [kernel for graph in one.record.graphs for kernel in graph.kernels]:
                if kernel.recorded_functions:
                    path = os.path.join(os.path.abspath(one.path), kernel.file)
                    self._functions[path] = set(kernel.recorded_functions)

    def has(self, file: str, line: int) -> bool:
        """Return whether a line of a file runs only while a CUDA graph is recorded."""
        path = os.path.abspath(file)
        if path not in self._functions:
            return False
        if path not in self._lines:
            self._lines[path] = _lines_of(path, self._functions[path])
        return line in self._lines[path]


def _lines_of(path: str, names: Set[str]) -> Set[int]:
    """Return the lines of the functions of a file that have these names; none where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    return {line for node in functions for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
