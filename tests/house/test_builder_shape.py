"""The stage `build` stays a few small objects and plain functions: its classes are counted from the source."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, List, Set

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
BUILD = ROOT / "depyf" / "decompiler" / "build"

DEEPEST, MOST_METHODS, MOST_ATTRIBUTES = 2, 30, 12
# Bases that are no class of ours: those of the standard library that the package uses.
FOREIGN = {"object", "Exception", "NamedTuple", "Protocol", "Enum", "IntEnum", "Dict", "Generic"}


@dataclass
class Shape:
    """What one class statement declares, without what it inherits."""

    name: str
    bases: List[str]
    methods: Set[str] = field(default_factory=set)
    attributes: Set[str] = field(default_factory=set)
    only_raise: Set[str] = field(default_factory=set)


def shapes(texts: Iterable[str]) -> Dict[str, Shape]:
    """Return the classes of some modules by name; a name that two of them have is an error."""
    found: Dict[str, Shape] = {}
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                assert node.name not in found, f"two classes are called {node.name}"
                found[node.name] = shape(node)
    return found


def shape(node: ast.ClassDef) -> Shape:
    result = Shape(node.name, [last_name(base) for base in node.bases])
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            result.methods.add(statement.name)
            if only_raises(statement):
                result.only_raise.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            result.attributes.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if names == {"__slots__"}:
                result.attributes.update(ast.literal_eval(statement.value))
            else:
                result.attributes.update(names)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            if isinstance(inner.value, ast.Name) and inner.value.id == "self":
                result.attributes.add(inner.attr)
    return result


def last_name(base: ast.expr) -> str:
    """Return `Expression` for `s.Expression` and `Generic` for `Generic[T]`."""
    if isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def only_raises(function: ast.AST) -> bool:
    """Return whether a function only raises, its docstring aside."""
    body = [statement for statement in function.body if not is_text(statement)]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def ancestry(found: Dict[str, Shape], name: str) -> List[Shape]:
    """Return a class and the classes of the package that it inherits from."""
    own = found[name]
    return [own] + [other for base in own.bases if base in found for other in ancestry(found, base)]


def depth(found: Dict[str, Shape], name: str) -> int:
    """Return 1 plus the length of the longest chain of base classes in the project (a syntax node counts as one)."""
    above = [depth(found, base) if base in found else int(base not in FOREIGN) for base in found[name].bases]
    return 1 + max(above, default=0)


def violations(found: Dict[str, Shape]) -> List[str]:
    """Return the classes that are too deep, too large, or stubs."""
    result = []
    for name in found:
        classes = ancestry(found, name)
        methods = len(set().union(*(one.methods for one in classes)))
        attributes = len(set().union(*(one.attributes for one in classes)))
        if depth(found, name) > DEEPEST:
            result.append(f"{name}: {depth(found, name)} deep")
        if methods > MOST_METHODS:
            result.append(f"{name}: {methods} methods")
        if attributes > MOST_ATTRIBUTES:
            result.append(f"{name}: {attributes} attributes")
        result += [f"{name}.{stub} only raises" for stub in sorted(found[name].only_raise)]
    return result


def test_build_is_small_objects_and_plain_functions():
    found = shapes(path.read_text(encoding="utf-8") for path in sorted(BUILD.rglob("*.py")))
    assert len(found) > 20  # the counter reads the package
    assert violations(found) == []


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("class A: pass\nclass B(A): pass\nclass C(B): pass", ["C: 3 deep"]),
        ("class A(s.Expression): pass\nclass B(A): pass", ["B: 3 deep"]),
        ("class A(Exception): pass\nclass B(A): pass", []),
        ("class A:\n    def f(self):\n        '''Later.'''\n        raise NotImplementedError", ["A.f only raises"]),
        ("class A:\n" + "".join(f"    def f{n}(self): return {n}\n" for n in range(31)), ["A: 31 methods"]),
        ("class A:\n    def f(self):\n" + "".join(f"        self.a{n} = 0\n" for n in range(13)), ["A: 13 attributes"]),
        ("class A:\n" + "".join(f"    a{n}: int\n" for n in range(13)), ["A: 13 attributes"]),
        (
            "class A:\n    __slots__ = tuple('abcdefgh')" .replace("tuple('abcdefgh')", repr(tuple("abcdefgh")))
            + "\nclass B(A):\n    __slots__ = " + repr(tuple("ijklm")),
            ["B: 13 attributes"],
        ),
    ],
)  # fmt: skip
def test_the_counter_finds_what_is_too_large(text, wanted):
    assert violations(shapes([textwrap.dedent(text)])) == wanted
