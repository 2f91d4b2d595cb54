"""Names, docstrings and comments of the tests follow the same rules: a failing test's name is the first thing one reads."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import Iterator, Tuple

import pytest
from repository import ROOT
from test_words import DIALECT, descriptions_in

FILES = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != "test_words.py"]


def prose_of(source: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, text) of every comment, docstring and test name; other strings hold programs and their output."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_test_makes_a_person_of_the_code(path):
    found = [f"line {line}: {text}" for line, text in prose_of(path.read_text()) if DIALECT.search(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_docstrings_of_helpers_are_imperative(path):
    lines = path.read_text().splitlines()
    found = [
        f"line {line}: {text}"
        for line, text in descriptions_in("\n".join(lines))
        if not lines[line - 1].startswith("def test_")
    ]
    assert not found, "\n".join(found)
