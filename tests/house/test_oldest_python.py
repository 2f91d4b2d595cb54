"""The code stays valid for the oldest Python that the package promises: users of that version would lose all of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
OLDEST = (3, 8)
FILES = sorted(path for folder in ("depyf", "bench", "tools") for path in (ROOT / folder).rglob("*.py")
               if "dump_programs" not in path.parts and "length_programs" not in path.parts)  # fmt: skip

# Functions and methods of the standard library that are newer.
NEWER_ATTRIBUTES = {
    "removeprefix", "removesuffix", "unparse", "bit_count", "lcm", "pairwise", "NoneType", "EllipsisType", "UnionType",
    "TypeAlias", "ParamSpec", "Self", "Never", "assert_never", "is_relative_to", "with_stem", "randbytes",
    "stdlib_module_names", "monitoring", "get_annotations", "add_note", "ExceptionGroup", "hardlink_to",
}  # fmt: skip
NEWER_NAMES = {("functools", "cache"), ("itertools", "pairwise"), ("itertools", "batched"), ("math", "lcm")}
NEWER_ARGUMENTS = {("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only"), ("dataclass", "match_args")}
GENERICS = {"list", "dict", "tuple", "set", "frozenset", "type"}


class Newer(ast.NodeVisitor):
    """Collects what the oldest Python has not; annotations are strings (`from __future__ import annotations`)."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def note(self, node: ast.AST, what: str) -> None:
        self.found.append(f"line {getattr(node, 'lineno', 0)}: {what}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.decorator_list, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in GENERICS and isinstance(node.ctx, ast.Load):
            self.note(node, f"{node.value.id}[...] is evaluated")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        module = node.value.id if isinstance(node.value, ast.Name) else ""
        if (node.attr in NEWER_ATTRIBUTES and module != "s") or (module, node.attr) in NEWER_NAMES:
            self.note(node, f".{node.attr}")
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            if (node.module, name.name) in NEWER_NAMES or (node.module == "typing" and name.name in NEWER_ATTRIBUTES):
                self.note(node, f"from {node.module} import {name.name}")

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if isinstance(node.func, ast.Name) and (node.func.id, keyword.arg) in NEWER_ARGUMENTS:
                self.note(node, f"{node.func.id}({keyword.arg}=...)")
        self.generic_visit(node)


def newer_in(text: str) -> list[str]:
    visitor = Newer()
    visitor.visit(ast.parse(text, feature_version=OLDEST))
    return visitor.found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_runs_on_the_oldest_python(path):
    text = path.read_text(encoding="utf-8")
    assert newer_in(text) == []
    has_annotations = any(isinstance(node, (ast.AnnAssign, ast.arg)) for node in ast.walk(ast.parse(text)))
    if has_annotations and path.relative_to(ROOT).parts[0] == "depyf":
        assert "from __future__ import annotations" in text, "else annotations are evaluated"


@pytest.mark.parametrize(
    "text",
    ["x = list[int]", "x: list[int] = dict[str, int]()", "import functools\n@functools.cache\ndef f(): pass",
     "from functools import cache", "a.removeprefix('x')", "zip(a, b, strict=True)", "ast.unparse(x)",
     "def f(x=tuple[int]): pass", "@dataclass(slots=True)\nclass A: pass"],
)  # fmt: skip
def test_what_the_oldest_python_lacks_is_noticed(text):
    assert newer_in(text) != []


def test_syntax_that_the_oldest_python_lacks_is_noticed():
    with pytest.raises(SyntaxError):
        newer_in("match x:\n    case 1: pass")
