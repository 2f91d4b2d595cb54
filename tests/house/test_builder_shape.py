"""The stage `build` stays a few small objects and plain functions: its classes are imported and counted."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import sys
import textwrap
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Dict, Iterator, List, Set

import pytest

import depyf.decompiler.build as build
from depyf.decompiler.printer.parsed_trees import text_of

DEEPEST, MOST_METHODS, MOST_ATTRIBUTES = 2, 30, 12


def modules_of(package: ModuleType) -> List[ModuleType]:
    names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    return [package, *map(importlib.import_module, names)]


def classes_of(module: ModuleType) -> List[type]:
    """Return the classes that a module defines, those inside of others included; one that is out of reach is an error."""
    found: List[type] = []
    work = list(vars(module).values())
    while work:
        value = work.pop()
        if isinstance(value, type) and value.__module__ == module.__name__ and value not in found:
            found.append(value)
            work.extend(vars(value).values())
    written = {name for name, node in definitions(module).items() if isinstance(node, ast.ClassDef)}
    assert {one.__qualname__ for one in found} == written, "a class that cannot be counted"
    return sorted(found, key=lambda one: one.__qualname__)


def definitions(module: ModuleType) -> Dict[str, Any]:
    """Return the functions and classes that a module's source defines, by qualified name."""
    found: Dict[str, Any] = {}
    work = [("", ast.parse(Path(module.__file__).read_text(encoding="utf-8")))]
    while work:
        prefix, node = work.pop()
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[prefix + child.name] = child
                inside = f"{prefix}{child.name}." + ("" if isinstance(child, ast.ClassDef) else "<locals>.")
            work.append((inside, child))
    return found


def lineage(kind: type) -> List[type]:
    """Return a class and its base classes that are the project's own."""
    own = kind.__module__.split(".")[0]
    return [one for one in kind.__mro__ if one.__module__.split(".")[0] in (own, "depyf")]


def methods_of(kind: type) -> Dict[str, FunctionType]:
    """Return the methods that somebody wrote; not those that a dataclass or a named tuple adds."""
    found = {}
    for name, value in vars(kind).items():
        if isinstance(value, property):
            value = value.fget
        value = getattr(value, "__func__", value)
        value = value.func if isinstance(value, cached_property) else value
        if isinstance(value, FunctionType) and Path(value.__code__.co_filename).is_file():
            if value.__module__.split(".")[0] == kind.__module__.split(".")[0]:
                found[name] = value
    return found


def attributes_of(kind: type) -> Set[str]:
    """Return the attributes that a class declares, has, or that its methods set on `self`."""
    slots = vars(kind).get("__slots__", ())
    found = {slots} if isinstance(slots, str) else set(slots)
    found.update(vars(kind).get("__annotations__") or getattr(kind, "__annotations__", {}))  # computed since 3.14
    methods = methods_of(kind)
    for name, value in vars(kind).items():
        is_special = name.startswith("__") and name.endswith("__")
        if not is_special and name not in methods and not callable(value) and not hasattr(value, "__func__"):
            found.add(name)
    source = definitions(sys.modules[kind.__module__])[kind.__qualname__]
    for node in ast.walk(source):
        found.update(set_on_self(node))
    return {name for name in found if not (name.startswith("__") and name.endswith("__"))}


def set_on_self(node: ast.AST) -> Iterator[str]:
    """Yield the attribute of `self` that a node sets, also by `setattr` and `object.__setattr__`."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and text_of(node.value) == "self":
        yield node.attr
    elif isinstance(node, ast.Call) and text_of(node.func).endswith(("setattr", "__setattr__")):
        for place, argument in enumerate(node.args[1:]):
            if text_of(node.args[place]) == "self" and isinstance(argument, ast.Constant):
                yield str(argument.value)


def only_raises(body: List[ast.stmt]) -> bool:
    """Return whether statements do nothing but raise, or nothing at all."""
    return all(map(raises_or_passes, body))


def raises_or_passes(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Raise, ast.Pass)):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    if isinstance(statement, (ast.If, ast.While)):
        return only_raises(statement.body) and only_raises(statement.orelse)
    if isinstance(statement, ast.Assign):  # the message
        return all(isinstance(target, ast.Name) for target in statement.targets)
    return False


def violations(modules: List[ModuleType]) -> List[str]:
    """Return the classes that are too deep, too large, or stubs."""
    result = []
    for module in modules:
        sources = definitions(module)
        for kind in classes_of(module):
            line = lineage(kind)
            methods = set().union(*map(methods_of, line))
            attributes = set().union(*map(attributes_of, line))
            if len(line) > DEEPEST:
                result.append(f"{kind.__name__}: {len(line)} deep")
            if len(methods) > MOST_METHODS:
                result.append(f"{kind.__name__}: {len(methods)} methods")
            if len(attributes) > MOST_ATTRIBUTES:
                result.append(f"{kind.__name__}: {len(attributes)} attributes")
            for name in sorted(methods_of(kind)):
                source = sources.get(f"{kind.__qualname__}.{name}")
                if source is not None and only_raises(source.body):
                    result.append(f"{kind.__name__}.{name} only raises")
    return result


def test_build_is_small_objects_and_plain_functions():
    modules = modules_of(build)
    assert sum(len(classes_of(module)) for module in modules) > 20  # the counter reads the package
    assert violations(modules) == []


ATTRIBUTES = "".join(f"        self.a{n} = 0\n" for n in range(13))
STUB = "class A:\n    def f(self):\n        "


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("class A: pass\nclass B(A): pass\nclass C(B): pass", ["C: 3 deep"]),
        ("class A: pass\nBase = A\nclass B(Base): pass\nOther = B\nclass C(Other): pass", ["C: 3 deep"]),
        ("from depyf.decompiler import syntax as s\nclass A(s.Expression): pass", ["A: 3 deep"]),
        ("class A(Exception): pass\nclass B(A): pass", []),
        (STUB + "'''Later.'''\n        raise NotImplementedError", ["A.f only raises"]),
        (STUB + "pass\n        raise NotImplementedError", ["A.f only raises"]),
        (STUB + "text = 'later'\n        raise ValueError(text)", ["A.f only raises"]),
        (STUB + "...", ["A.f only raises"]),
        (STUB + "assert False", ["A.f only raises"]),
        (STUB + "if self:\n            raise ValueError\n        else:\n            raise TypeError", ["A.f only raises"]),
        ("class A:\n    if True:\n        def f(self):\n            raise ValueError", ["A.f only raises"]),
        ("class A:\n    @property\n    def f(self):\n        raise ValueError", ["A.f only raises"]),
        (STUB + "if self:\n            raise ValueError\n        return 1", []),
        ("class A:\n" + "".join(f"    def f{n}(self): return {n}\n" for n in range(31)), ["A: 31 methods"]),
        ("class A:\n    if True:\n" + "".join(f"        def f{n}(self): return {n}\n" for n in range(31)),
         ["A: 31 methods"]),
        ("class A:\n    def f(self):\n" + ATTRIBUTES, ["A: 13 attributes"]),
        ("class A:\n    def f(self):\n" + ATTRIBUTES.replace("self.a", "object.__setattr__(self, 'a").replace(" =", "',")
         .replace("0\n", "0)\n"), ["A: 13 attributes"]),
        ("class A:\n" + "".join(f"    a{n}: int\n" for n in range(13)), ["A: 13 attributes"]),
        ("class A:\n    __slots__: tuple = " + repr(tuple("abcdefghijklm")), ["A: 13 attributes"]),
        ("class A:\n    __slots__ = " + repr(tuple("abcdefgh")) + "\nclass B(A):\n    __slots__ = "
         + repr(tuple("ijklm")), ["B: 13 attributes"]),
        ("class A:\n    class B:\n        class C:\n            def f(self):\n                raise ValueError",
         ["C.f only raises"]),
    ],
)  # fmt: skip
def test_the_counter_finds_what_is_too_large(tmp_path, text, wanted):
    path = tmp_path / "counted_module.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("counted_module", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["counted_module"] = module
    try:
        spec.loader.exec_module(module)
        assert violations([module]) == wanted
    finally:
        del sys.modules["counted_module"]


def test_a_class_inside_a_function_cannot_hide(tmp_path):
    path = tmp_path / "hiding_module.py"
    path.write_text("def f():\n    class A: pass\n    return A", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("hiding_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(AssertionError, match="cannot be counted"):
        classes_of(module)
