"""Torch 2.4 and older hand over frames without cells, and cache entries without a compile id or a guard manager."""

from __future__ import annotations

from types import SimpleNamespace

from depyf.torch_hooks.frames import cache_entries, program_calls
from depyf.torch_hooks.internals import private_hooks


def wrapped(function):
    def wrapper(x):
        return function(x)

    return wrapper


def test_a_frame_without_cells_has_cells_with_what_its_variables_hold():
    code = wrapped(len).__code__
    frame = SimpleNamespace(f_code=code, f_locals={"function": len, "x": 1})
    (cell,) = program_calls._closure_of(frame)
    assert cell.cell_contents is len


def test_guards_and_versions_are_read_from_entries_without_an_id(monkeypatch):
    guards = SimpleNamespace(root="the tree of guards")
    old, new = (compile(text, "f.py", "eval") for text in ("1", "2"))
    entries = [SimpleNamespace(code=new, check_fn=guards), SimpleNamespace(code=old, check_fn=guards)]
    monkeypatch.setattr(private_hooks, "find", lambda name: (lambda code: entries) if name == "cache_entries" else None)
    versions = cache_entries.versions_of(wrapped.__code__)
    assert [version.new_code for version in versions] == [old, new], "Dynamo has the one that was used last first"
    assert all(version.guard_manager is guards for version in versions)
