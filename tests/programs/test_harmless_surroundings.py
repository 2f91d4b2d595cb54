"""Logging, warnings and signal handlers of the program work as without depyf."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from depyf.problems import Problems

PROGRAM = r"""
import logging.config, sys, warnings
import torch, depyf

def old():
    warnings.warn("old habits")

def größe(x):
    pattern = "\d"
    y = x + len(pattern)
    print("break")
    return y * 2

f = torch.compile(größe, backend="eager")
if sys.argv[1] == "error":
    warnings.filterwarnings("error", category=SyntaxWarning)
    warnings.filterwarnings("error", category=DeprecationWarning, message="invalid escape")
with depyf.prepare_debug(sys.argv[2]):
    logging.config.dictConfig({"version": 1})
    for n in (2, 3, 4):
        f(torch.ones(n))
        old()
"""


@pytest.mark.parametrize("warned", ["default", "error"])
def test_a_program_may_reconfigure_logging_and_sees_each_warning_once(warned, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    dumped = tmp_path / "dump"
    python = [sys.executable, "-W", "ignore::SyntaxWarning", "-W", "ignore::DeprecationWarning:__main__"]

    def run():
        ran = subprocess.run(
            [*python, str(tmp_path / "program.py"), warned, str(dumped)],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
        )
        return ran.stderr.decode()

    stderr = run()
    seen = stderr.count("UserWarning: old habits")
    if seen != 1:  # torch 2.8 and older have Python forget which it has shown, without depyf, too
        (tmp_path / "program.py").write_text(PROGRAM.replace("with depyf.prepare_debug(sys.argv[2]):", "if True:"))
        assert seen == run().count("UserWarning: old habits")
    assert "SyntaxWarning" not in stderr and "invalid escape" not in stderr and "depyf failed" not in stderr
    manifest = json.loads((dumped / "manifest.json").read_text(encoding="utf-8"))
    assert not manifest["problems"]
    assert manifest["graphs"] and all(frame["guards"] for frame in manifest["frames"])
    assert any(frame.get("graph_breaks") for frame in manifest["frames"])
    assert (dumped / manifest["functions"][0]["full_code_file"]).exists()
    assert "frames (" in stderr  # the summary, with a name that this terminal cannot show


class TimedOut(Exception):
    """Raised by the signal handler of the program."""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no such signal")
def test_an_exception_from_a_signal_handler_inside_depyf_reaches_the_program():
    def on_alarm(number, frame):
        raise TimedOut

    before = signal.signal(signal.SIGALRM, on_alarm)
    problems = Problems()
    try:
        with pytest.raises(TimedOut), problems.shield("working"):
            signal.raise_signal(signal.SIGALRM)
        with problems.shield("working"):  # raised by depyf itself, not by a handler
            raise TimedOut
    finally:
        signal.signal(signal.SIGALRM, before)
    assert problems.lines == ["working: TimedOut"]
