"""The map of the house matches the source: rooms, modules, and the direction of imports."""

from __future__ import annotations

import ast
import collections
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

MODULES = house.modules()


def test_every_module_belongs_to_a_room():
    assert [name for name in MODULES if not house.room_of(name)] == []


def test_every_room_on_the_map_exists():
    assert [room for room in house.ROOMS if room not in MODULES] == []


def test_the_map_is_what_the_source_gives():
    assert house.MAP.read_text(encoding="utf-8") == house.render(), "run python tools/house.py"


def test_a_room_may_import_only_rooms_that_are_listed_before_it():
    order = list(house.ROOMS)
    for place, (room, allowed) in enumerate(house.ROOMS.items()):
        named = [name for name in allowed if not name.endswith(".*")]
        packages = [name[: -len("*")] for name in allowed if name.endswith(".*")]
        named += [name for name in order if any(name.startswith(package) for package in packages)]
        assert [name for name in named if name != room and name not in order[:place]] == [], room


def test_imports_point_one_way():
    assert house.against_the_direction() == []


def test_no_two_modules_import_each_other():
    assert house.import_cycles() == []


def test_no_two_modules_have_one_name():
    counts = collections.Counter(name.rpartition(".")[2] for name in MODULES)
    # `utils` exists twice because programs written for depyf 0.20 import both.
    assert {name for name, count in counts.items() if count > 1} == {"utils"}


def test_a_forbidden_import_is_found(monkeypatch):
    monkeypatch.setitem(house.ROOMS, "depyf.report", ())
    assert any("depyf.report may not import depyf.record" in line for line in house.against_the_direction())


def test_a_star_does_not_open_the_rooms_that_come_later():
    assert not house.may_import("depyf.decompiler.pipeline", "depyf.decompiler")
    assert house.may_import("depyf.decompiler.pipeline", "depyf.decompiler.prove")
    assert house.may_import("depyf.__main__", "depyf.decompiler")


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\ndef f():\n    return importlib.import_module('depyf.report.closing_summary')",
        "import importlib as il\nil.import_module(name='depyf.report.closing_summary')",
        "from importlib import import_module as load\nload('depyf.report.closing_summary')",
        "__import__('depyf.report.closing_summary')",
    ],
)
def test_an_import_by_a_call_counts(tmp_path, text):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert [name for name, _ in house.imports_of(path, MODULES)] == ["depyf.report.closing_summary"]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_a_docstring(name):
    assert house.first_sentence(MODULES[name])


@pytest.mark.parametrize("name", MODULES)
def test_only_the_adapter_imports_torch_and_only_inside_functions(name):
    tree = ast.parse(MODULES[name].read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            if any(one.split(".")[0] == "torch" for one in names):
                assert name.startswith("depyf.torch_hooks."), f"line {node.lineno} imports torch"
                assert node not in tree.body, "torch must be imported lazily"


def uses_attribute(path: Path, owner: str, attribute: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_version_facts_of_python_live_in_one_module():
    users = [name for name in MODULES if uses_attribute(MODULES[name], "sys", "version_info")]
    assert users == ["depyf.decompiler.bytecode.python_facts"]


def test_version_facts_of_torch_live_in_one_module():
    users = [name for name in MODULES if uses_attribute(MODULES[name], "torch", "__version__")]
    assert set(users) <= {"depyf.torch_hooks.internals.private_hooks"}
