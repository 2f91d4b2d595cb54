"""The printer's round trip: text -> `ast` -> our tree -> text -> `ast`. Run it to check files:

python tests/support/printer_roundtrip.py FILE_OR_FOLDER ...
"""

from __future__ import annotations

import ast
import os
import sys
import time
import tokenize
import warnings
from typing import Any, Iterator, List

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from depyf.decompiler.printer import SyntaxLimits, print_source
from depyf.decompiler.printer.parsed_trees import from_ast as convert
from depyf.decompiler.syntax.literals import Unspellable

# The syntax of the running interpreter; docstrings are compared with their indentation, as parsed.
RUNNING = SyntaxLimits.of(sys.version_info[:2])
AS_PARSED = SyntaxLimits(**{**RUNNING.__dict__, "docstrings_are_dedented": False})

def normal(node: Any) -> str:
    """Return a text that is equal for equivalent `ast` trees: nested `and` flattened, string pieces joined."""
    if isinstance(node, ast.Constant):
        if type(node.value) is int and node.value.bit_length() > 4096:
            return hex(node.value)
        return f"Constant({node.value!r})"
    if isinstance(node, list):
        return "[" + ", ".join([normal(item) for item in node]) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    name = type(node).__name__
    if isinstance(node, ast.BoolOp):
        return f"BoolOp({normal(node.op)}, {normal(list(flat_values(node)))})"
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({', '.join(joined(node.values))})"
    if name == "Index":
        return normal(node.value)  # type: ignore[attr-defined]
    if name == "ExtSlice":
        return f"Tuple({normal(node.dims)})"  # type: ignore[attr-defined]
    skipped = ("ctx", "kind", "type_comment")
    return name + "(" + ", ".join([normal(getattr(node, f)) for f in node._fields if f not in skipped]) + ")"


def flat_values(node: ast.BoolOp) -> Iterator[ast.AST]:
    for value in node.values:
        if isinstance(value, ast.BoolOp) and type(value.op) is type(node.op):
            yield from flat_values(value)
        else:
            yield value


def joined(values: List[ast.expr]) -> Iterator[str]:
    """Yield the pieces of an f-string, adjacent constants joined and empty ones dropped."""
    text = ""
    for value in values:
        if isinstance(value, ast.Constant):
            text += value.value
            continue
        if text:
            yield repr(text)
        text = ""
        yield normal(value)
    if text:
        yield repr(text)


def check(source: str, width: Any = None) -> str:
    """Print the parsed `source`; raise AssertionError unless the text parses to the same tree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
        text = print_source(convert(tree), features=AS_PARSED, width=width).text
        try:
            back = ast.parse(text)
        except SyntaxError as error:
            raise AssertionError(f"not legal, line {error.lineno}: {error}\n{error.text}") from error
    for one, other in zip(tree.body, back.body):
        if normal(one) != normal(other):
            raise AssertionError(f"differs at line {one.lineno}/{other.lineno}: {text.splitlines()[other.lineno - 1]}")
    assert len(tree.body) == len(back.body)
    return text


def python_files(paths: List[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from sorted(os.path.join(folder, name) for name in names if name.endswith(".py"))


def read(path: str) -> Any:
    """Return the text of a Python file, or None if this interpreter cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tokenize.open(path) as file:
                text = file.read()
            compile(text, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            return text
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def main(paths: List[str]) -> None:
    sys.setrecursionlimit(20000)
    count = failed = unspellable = lines = skipped = 0
    seconds = time.perf_counter()
    for path in python_files(paths):
        source = read(path)
        if source is None:
            skipped += 1
            continue
        count += 1
        lines += source.count("\n")
        for width in (None, 110):
            try:
                check(source, width)
            except Unspellable as error:
                unspellable += 1
                print("UNSPELLABLE", path, error)
            except Exception as error:
                failed += 1
                print("FAILED", path, width, type(error).__name__, str(error)[:600])
    seconds = time.perf_counter() - seconds
    print(f"{sys.version.split()[0]}: {count} files, {lines} lines, {failed} failed, {unspellable} unspellable,"
          f" {skipped} not readable, {seconds:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
