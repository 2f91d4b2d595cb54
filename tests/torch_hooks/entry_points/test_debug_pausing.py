"""debug() pauses only where a person or a debugger can respond."""

from __future__ import annotations

import bdb
import io
import subprocess
import sys
import types

import pytest

from depyf.torch_hooks.entry_points import debug


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def fileno(self):
        raise OSError("not a real file")


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    for name in ("debugpy", "pydevd", "IPython"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_no_terminal_and_no_debugger_means_no_pause():
    assert not debug.can_pause()


def test_no_stdin_at_all_means_no_pause(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert not debug.can_pause()


def test_the_console_of_an_ide_which_is_no_real_file_is_honoured(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    assert debug.can_pause()


def test_a_program_in_the_background_of_its_terminal_does_not_pause(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    monkeypatch.setattr(sys.stdin, "fileno", lambda: 0)
    monkeypatch.setattr("os.tcgetpgrp", lambda descriptor: -1)
    assert not debug.can_pause()


def test_switched_off_breakpoints_do_not_pause_and_print_nothing(monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    with debug.debug():
        pass
    assert capsys.readouterr().err == ""


def test_a_closed_stdin_does_not_pause():
    sys.stdin.close()
    assert not debug.can_pause()


def test_an_ide_that_took_over_the_breakpoint_hook_is_honoured(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", lambda *args, **kwargs: None)
    assert debug.can_pause()


@pytest.mark.parametrize(
    ("target", "pauses"),
    [("pdb.set_trace", False), ("ipdb.set_trace", False), ("remote_pdb.set_trace", True)],
)
def test_a_debugger_of_the_users_choice_is_honoured_if_it_needs_no_terminal(monkeypatch, target, pauses):
    monkeypatch.setenv("PYTHONBREAKPOINT", target)
    assert debug.can_pause() is pauses


def test_a_pdb_that_already_runs_the_program_is_honoured(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: bdb.Bdb().trace_dispatch)
    assert debug.can_pause()


def test_coverage_is_no_debugger(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: lambda *args: None)
    assert not debug.can_pause()


@pytest.mark.parametrize("connected", [True, False])
def test_debugpy_counts_once_a_client_is_connected(monkeypatch, connected):
    debugpy = types.SimpleNamespace(is_client_connected=lambda: connected)
    monkeypatch.setitem(sys.modules, "debugpy", debugpy)
    assert debug.can_pause() is connected


PROGRAM = """
import sys, torch, depyf
@torch.compile(backend="eager")
def f(x):
    return x + 1
compiled = torch._dynamo.utils.counters["frames"]
f(torch.ones(3))
before = compiled["ok"]
with depyf.debug():
    assert f(torch.ones(3)).tolist() == [2, 2, 2]
    assert f(torch.ones(2, 5)).shape == (2, 5)
print("compiled inside:", compiled["ok"] - before)
f(torch.ones(2, 5))
print("compiled after:", compiled["ok"] - before)
"""


def run(program: str, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, subprocess.PIPE], ids=["end of input", "a pipe"])
def test_without_a_terminal_the_program_continues_and_a_new_shape_compiles_nothing(stdin):
    pytest.importorskip("torch")
    done = run(PROGRAM, stdin=stdin, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "no terminal and no debugger" in done.stderr
    assert done.stdout == "compiled inside: 0\ncompiled after: 1\n"


COMMANDS = """
import torch, depyf
@torch.compile(backend="eager")
def f(x):
    return x + 1
f(torch.ones(3))
with depyf.debug():
    f(torch.ones(3))
print("the end")
"""


@pytest.mark.parametrize("kind", ["a file", "a pipe"])
def test_commands_for_the_debugger_may_come_from_a_file_or_a_pipe(kind, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "commands").write_text("p 6 * 7\nc\n")
    with open(tmp_path / "commands") as file:
        done = run(COMMANDS, timeout=120, **({"stdin": file} if kind == "a file" else {"input": file.read()}))
    assert done.returncode == 0, done.stderr
    assert "depyf is paused" in done.stdout and "42" in done.stdout and done.stdout.endswith("the end\n")


def test_a_file_that_was_read_to_its_end_has_no_commands(monkeypatch, tmp_path):
    (tmp_path / "read").write_text("c\n")
    with open(tmp_path / "read") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert debug.can_pause()
        file.read()
        assert not debug.can_pause()


def test_an_exception_of_the_program_passes_and_compiling_works_again():
    torch = pytest.importorskip("torch")
    import depyf

    with pytest.raises(ZeroDivisionError):
        with depyf.debug():
            raise ZeroDivisionError
    torch._dynamo.reset()  # of this lambda, too, an earlier run of the test may have compiled a version
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    before = torch._dynamo.utils.counters["frames"]["ok"]
    compiled(torch.ones(3))
    assert torch._dynamo.utils.counters["frames"]["ok"] == before + 1


def test_a_folder_is_refused_with_what_is_used_instead():
    pytest.importorskip("torch")
    import depyf

    with pytest.raises(depyf.errors.UserError, match=r"debug\('./dump'\): it takes no folder"):
        with depyf.debug("./dump"):
            pass


@pytest.mark.parametrize("wrong", [{"stop_on_nan": "no"}, {"pause": None}])
def test_what_is_neither_true_nor_false_is_refused_because_no_would_mean_yes(wrong):
    pytest.importorskip("torch")
    import depyf

    with pytest.raises(depyf.errors.UserError, match=r"debug\(\w+=.*\): expected True or False"):
        with depyf.debug(**wrong):
            pass


def test_debug_inside_an_active_prepare_debug_is_a_clear_error(monkeypatch):
    pytest.importorskip("torch")
    import depyf

    session = types.SimpleNamespace(active=lambda: object())
    monkeypatch.setitem(sys.modules, "depyf.torch_hooks.entry_points.prepare_debug", session)
    with pytest.raises(depyf.errors.UserError, match="Leave prepare_debug first"):
        with depyf.debug():
            pass
