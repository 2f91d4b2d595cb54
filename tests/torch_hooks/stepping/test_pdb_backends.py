"""A real pdb, in whichever way this Python's debuggers receive events, with a package in torch's place: without torch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = "def call(function):\n    before = 1\n    result = function()\n    return result\n"
PROGRAM = """\
import sys
import torch
from depyf.torch_hooks.stepping.attendance import Attendance
from depyf.torch_hooks.stepping.user_breakpoints import CarriedLine

def inner():
    x = 1  # first
    y = 2  # second
    return x + y

def prompts():
    z = 3
    breakpoint()  # prompt
    return z

def outer():
    torch.call(inner)  # call
    return 4  # after

class Carrier:
    def carry(self, file, line):
        return CarriedLine(((file, line + 1),), f"{line} -> {line + 1}") if line == FIRST else None

LINES = open(__file__).read().splitlines()
FIRST, SECOND = (1 + [line.endswith("# " + word) for line in LINES].index(True) for word in ("first", "second"))
with Attendance(Carrier, print) as attendance:
    attendance.attend_running()
    attendance.answer_breakpoint_calls()
    if sys.argv[1] == "asked":
        attendance.set_breakpoints([(__file__, SECOND)])
    torch.call(prompts) if sys.argv[1] == "prompts" else outer()
outer()
print("THE END")
"""


@pytest.fixture
def stops(tmp_path):
    """Run the program with commands for pdb; return the comments of the lines that it stopped at, and its output."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(LIBRARY)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)

    def run(what, commands, *options):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "NO_COLOR": "1"}
        for name in ("PYTHONBREAKPOINT", "COVERAGE_PROCESS_START"):
            environment.pop(name, None)
        done = subprocess.run(
            [sys.executable, *options, str(file), what],
            input="\n".join(commands) + "\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=tmp_path,
            text=True,
            timeout=60,
        )
        places = re.findall(r"> (\S+)\((\d+)\)", done.stdout)
        texts = {str(file): PROGRAM.splitlines(), str(tmp_path / "torch" / "__init__.py"): LIBRARY.splitlines()}
        words = [texts.get(name, [""] * 9999)[int(line) - 1].rpartition("# ")[2].strip() for name, line in places]
        return words, done.stdout

    return run


def line_of(word):
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"# {word}"))


def test_steps_lead_through_torch_to_the_users_code_and_back(stops):
    commands = [f"b {line_of('call')}", "c", "s", "s", "s", "s", "s", "s", "s", "q"]
    words, output = stops("steps", commands, "-m", "pdb")
    assert words[1:3] == ["call", "def inner():"], output  # the first is where pdb starts
    assert words[3:5] == ["first", "second"], output
    assert "after" in words[5:8], output
    assert not [word for word in words if word in LIBRARY.replace("    ", "").splitlines()], output


def test_a_breakpoint_from_code_stops_while_the_context_is_open(stops):
    words, output = stops("asked", ["p x + 40", "c"])
    assert words == ["second"] and "41" in output, output
    assert output.endswith("THE END\n"), output


def test_a_breakpoint_in_a_line_that_does_not_run_stops_where_it_was_carried_to(stops):
    commands = [f"b {line_of('call')}", "c", f"b {line_of('first')}", "c", "c", f"cl {line_of('first')}", "q"]
    words, output = stops("steps", commands, "-m", "pdb")
    assert f"{line_of('first')} -> {line_of('second')}" in output, output
    assert words[1:4] == ["call", "first", "second"], output


def test_breakpoint_prompts_at_the_very_line_that_calls_it(stops):
    words, output = stops("prompts", ["p z + 40", "s", "c"])
    assert words[:1] == ["prompt"] and "43" in output, output
    assert output.endswith("THE END\n"), output
