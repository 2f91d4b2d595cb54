"""The map of the house in CONTRIBUTING.md is true: who may import whom, and where version facts live."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from repository import ROOT

PACKAGE = ROOT / "depyf"
MODULES = sorted(PACKAGE.rglob("*.py"))

# room -> the modules and rooms of depyf that it may import, besides itself
MAY_IMPORT = {
    "depyf.decompiler": {"depyf.errors", "depyf.quiet", "depyf.signals"},
    "depyf.record": set(),
    "depyf.errors": set(),
    "depyf.quiet": set(),
    "depyf.signals": set(),
    "depyf.report": {"depyf.record", "depyf.quiet"},
    "depyf.torch_hooks": {
        "depyf.decompiler", "depyf.errors", "depyf.quiet", "depyf.record", "depyf.report", "depyf.signals", "depyf"
    },
    "depyf.explain": {"depyf.torch_hooks", "depyf.errors"},
    "depyf.optimization": {"depyf.torch_hooks", "depyf.errors"},
    "depyf.utils": {"depyf.decompiler", "depyf.errors"},
    "depyf": {"depyf.decompiler", "depyf.torch_hooks"},
    "depyf.__main__": {"depyf.decompiler", "depyf.errors", "depyf.torch_hooks"},
}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports_of(path: Path) -> set[str]:
    """Absolute names of the modules that the file imports, wherever in it."""
    found = set()
    package = path.parent.relative_to(PACKAGE.parent).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            found.add(module)
            found |= {f"{module}.{alias.name}" for alias in node.names if is_module(f"{module}.{alias.name}")}
    return found


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path):
    room = room_of(name_of(path))
    for imported in imports_of(path):
        if imported.split(".")[0] != "depyf":
            continue
        target = room_of(imported)
        assert target == room or target in MAY_IMPORT[room], f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_adapter_imports_torch_and_only_inside_functions(path):
    tree = ast.parse(path.read_text())
    inside = "depyf.torch_hooks" in name_of(path)
    if not inside:
        assert not {name for name in imports_of(path) if name.split(".")[0] == "torch"}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            assert not any(name.split(".")[0] == "torch" for name in names), "torch is imported when needed"


def uses_attribute(path: Path, owner: str, attribute: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
        for node in ast.walk(ast.parse(path.read_text()))
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_version_facts_of_python_live_in_one_module(path):
    assert name_of(path) == "depyf.decompiler.python_facts" or not uses_attribute(path, "sys", "version_info")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_version_facts_of_torch_live_in_one_module(path):
    assert name_of(path) == "depyf.torch_hooks.torch_facts" or not uses_attribute(path, "torch", "__version__")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("room", ["decompiler", "torch_hooks", "report"])
def test_every_module_is_on_the_map(room):
    contributing = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    parts = [path for path in (PACKAGE / room).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    names = {path.name if path.suffix else path.name + "/" for path in parts} - {"__init__.py"}
    assert {name for name in names if f"`{name}`" not in contributing and f"/{name}`" not in contributing} == set()
