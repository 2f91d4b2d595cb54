"""`depyf doctor` finds what is missing, and what is there but does not work."""

from __future__ import annotations

import json

import pytest

from depyf.__main__ import main
from depyf.commands import doctor


def test_a_torch_that_is_whole_passes(capsys):
    pytest.importorskip("torch")
    from torch_probes import IS_WHOLE

    assert main(["doctor"]) == (0 if IS_WHOLE else 1)
    out = capsys.readouterr().out
    assert "a small program: 2 frames (2 proved), 2 graphs, 1 graph break" in out
    assert out.endswith("all is supported\n") or not IS_WHOLE
    assert "a small program was tried" not in out


def test_an_opcode_without_a_rule_is_named(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "coverage", lambda: {"NOP": True, "NEW_OPCODE": False})
    monkeypatch.setattr(doctor.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError("gone")))
    assert main(["doctor", "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert "NEW_OPCODE" in problems[0]
    assert "torch cannot be imported (gone)" in problems[1]


def test_a_name_that_torch_has_lost_is_listed_with_what_is_lost(monkeypatch):
    pytest.importorskip("torch")
    import torch._dynamo.convert_frame as module

    monkeypatch.delattr(module, "register_bytecode_hook")
    problems = doctor.examine().problems
    assert any("register_bytecode_hook: no frames" in problem for problem in problems)
    assert any("a small program was tried: " in problem for problem in problems)
