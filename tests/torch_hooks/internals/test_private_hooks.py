"""A private name of torch stands in one table: torch's renaming of a hook is a change of its row."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
from repository import ROOT

from depyf.torch_hooks.frames import skip_listener
from depyf.torch_hooks.graphs import autotuning, custom_stages
from depyf.torch_hooks.internals import private_hooks, torch_behaviours

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

ASKED = ("find", "find_loaded", "hook")
OF_DIS = {"starts_line"}  # an attribute of Python's own instructions, too
NAMES = {part for row in private_hooks.HOOKS for part in row.attribute.split(".")} - OF_DIS
USERS = {name: path for name, path in house.modules().items() if name != private_hooks.__name__}


def spelled(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the private names that a module spells other than as names of rows, with their lines."""
    questions = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    rows = {id(name) for node in questions if getattr(node.func, "attr", "") in ASKED for name in node.args}
    found = []
    for node in ast.walk(tree):
        for field in ("value", "attr", "name"):  # a string, an attribute, an import or a definition
            name = getattr(node, field, None)
            if isinstance(name, str) and name in NAMES and id(node) not in rows and not _is_of_python(node):
                found.append((getattr(node, "lineno", 1), name))  # names in an import have none before 3.10
    return found


def _is_of_python(node: ast.AST) -> bool:
    """Return whether it is an attribute of a module of Python's that torch has under the same name: linecache.cache."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "linecache"


def test_a_second_home_of_a_private_name_is_found():
    assert spelled(ast.parse("NAME = 'add_skip_reason'")) == [(1, "add_skip_reason")]
    assert spelled(ast.parse("from torch._dynamo.convert_frame import input_codes")) == [(1, "input_codes")]
    assert spelled(ast.parse("torch._dynamo.utils.lazy_format_graph_code")) == [(1, "lazy_format_graph_code")]
    assert not spelled(ast.parse("private_hooks.find('input_codes')"))
    assert not spelled(ast.parse("linecache.cache")) and spelled(ast.parse("torch._dynamo.resume_execution.x.cache"))


@pytest.mark.parametrize("row", private_hooks.HOOKS, ids=lambda row: row.name)
def test_the_versions_of_a_hook_are_a_range(row):
    assert re.match(r"2\.\d+ (and newer|to 2\.\d+)\b", row.holds_for), row.holds_for


@pytest.mark.parametrize("module", USERS)
def test_no_other_module_spells_a_private_name(module):
    assert not spelled(ast.parse(USERS[module].read_text(encoding="utf-8")))


@pytest.fixture
def renamed(monkeypatch):
    """Give every hook another module and name, change the rows and nothing else; return a row's module by its name."""
    homes = {}
    for row in private_hooks.HOOKS:
        home = ModuleType(f"renamed_{row.name}")
        setattr(home, "new_name", homes.setdefault(row.attribute, lambda *args: args))
        monkeypatch.setitem(sys.modules, home.__name__, home)
        changed = dataclasses.replace(row, module=home.__name__, attribute="new_name")
        monkeypatch.setitem(private_hooks._BY_NAME, row.name, changed)
    return lambda name: sys.modules[private_hooks.hook(name).module]


def names_of(module: ModuleType) -> dict[str, object]:
    return dict(vars(module))


def test_skips_are_received_under_another_name(renamed):
    home = renamed("skip_reasons")
    before, received = names_of(home), []
    detach = skip_listener.attach(lambda *skip: received.append(skip))
    frame = SimpleNamespace(f_code=spelled.__code__)
    assert home.new_name("too often", frame) == ("too often", frame)
    assert received == [("too often", spelled.__code__, False)]
    detach()
    assert names_of(home) == before


@pytest.mark.parametrize("row", ["graph_formatter", "graph_formatter_of_fx"])
def test_stages_of_custom_backends_are_received_under_another_name(renamed, monkeypatch, row):
    home, backend = renamed(row), ModuleType("a_backend")
    backend.new_name = home.new_name
    monkeypatch.setitem(sys.modules, backend.__name__, backend)
    before, received = names_of(home), []
    detach = custom_stages.attach(received.append)
    for module in (home, backend):
        module.new_name("before split", SimpleNamespace(code="the graph"))
    assert received == [custom_stages.CustomStage("before split", "the graph")] * 2
    detach()
    assert names_of(home) == before and backend.new_name is home.new_name


def test_autotuning_is_received_under_another_name(renamed):
    home, savers, received = renamed("autotuning_choices"), [], []
    home.new_name = lambda: SimpleNamespace(feedback_saver_fns=savers)
    before = names_of(home)
    detach = autotuning.attach(lambda *tuned: received.append(tuned))
    home.new_name()
    for saver in savers:
        saver("timings", "mm", "inputs", "choices")
    assert received == [("timings", "mm", "choices")]
    detach()
    assert names_of(home) == before and not savers


def test_a_module_in_cpp_that_cannot_be_imported_is_found_in_the_one_above_it(monkeypatch):
    """So it is in torch 2.4 and older: what such a module lacks has to be named, and what it has to be used."""
    above = ModuleType("old_cpp")
    above.guards = ModuleType("guards")
    monkeypatch.setitem(sys.modules, "old_cpp", above)
    row = torch_behaviours.Behaviour("trees", "old_cpp.guards", "Tree", "no trees")
    monkeypatch.setattr(torch_behaviours, "BEHAVIOURS", (row,))
    assert torch_behaviours.lacking() == ("torch has no old_cpp.guards.Tree: no trees",)
    above.guards.Tree = object
    assert torch_behaviours.has("trees") and torch_behaviours.lacking() == ()
    hook = private_hooks.PrivateHook("tree", "old_cpp.guards", "Tree", "", "", "")
    monkeypatch.setitem(private_hooks._BY_NAME, "tree", hook)
    assert private_hooks.find("tree") is object
