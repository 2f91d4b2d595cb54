"""install() and uninstall(): decompiled source in torch's own bytecode log."""

from __future__ import annotations

import logging

import pytest

import depyf

torch = pytest.importorskip("torch")


@pytest.fixture
def bytecode_log():
    """Switch torch's bytecode log on and return the list of its messages."""
    from torch._dynamo.convert_frame import bytecode_log

    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    level = bytecode_log.level
    bytecode_log.setLevel(logging.DEBUG)
    bytecode_log.addHandler(handler)
    torch._dynamo.reset()
    yield messages
    depyf.uninstall()
    bytecode_log.removeHandler(handler)
    bytecode_log.setLevel(level)


def f(x):
    return x.sin() + 1


def run_compiled() -> None:
    torch._dynamo.reset()
    assert torch.equal(torch.compile(f, backend="eager")(torch.zeros(3)), torch.ones(3))


def decompiled(messages: list[str]) -> list[str]:
    return [message for message in messages if message.startswith("DECOMPILED CODE f ")]


def test_source_appears_in_the_log_after_the_bytecode(bytecode_log):
    depyf.install()
    run_compiled()
    (message,) = decompiled(bytecode_log)
    assert "__compiled_fn_" in message
    assert "def " in message
    assert bytecode_log.index(message) > [line.split()[0] for line in bytecode_log].index("MODIFIED")


def test_installing_twice_logs_once_and_uninstall_restores(bytecode_log):
    from torch._dynamo import convert_frame

    before = dict(convert_frame._bytecode_hooks)
    depyf.install()
    depyf.install()
    run_compiled()
    assert len(decompiled(bytecode_log)) == 1
    depyf.uninstall()
    depyf.uninstall()
    assert dict(convert_frame._bytecode_hooks) == before
    run_compiled()
    assert len(decompiled(bytecode_log)) == 1


def test_a_failure_while_decompiling_does_not_reach_the_program(bytecode_log, monkeypatch):
    from depyf.torch_hooks.entry_points import bytecode_log as module

    def broken(*args):
        raise RuntimeError("injected")

    monkeypatch.setattr(module, "_message", broken)
    depyf.install()
    run_compiled()
    assert decompiled(bytecode_log) == []


def test_nothing_is_decompiled_while_the_log_is_off(monkeypatch):
    from depyf.torch_hooks.entry_points import bytecode_log as module

    calls = []
    monkeypatch.setattr(module, "_message", lambda *args: calls.append(args))
    depyf.install()
    try:
        run_compiled()
    finally:
        depyf.uninstall()
    assert calls == []
