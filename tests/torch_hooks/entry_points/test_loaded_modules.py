"""Modules are loaded before the program compiles, and those that no session needs are not loaded at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

SESSION = """
import sys, torch
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
import depyf

def f(x):
    y = x.sin()
    if y.sum() > 0:
        y = y - 1
    return y.cos()

before = set(sys.modules)
with depyf.prepare_debug({folder!r}):
    torch.compile(f, backend="eager")(torch.ones(3))
print(sorted(name for name in set(sys.modules) - before if name.startswith("depyf")))
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_compilation_waits_for_modules_of_depyf(tmp_path):
    pytest.importorskip("torch")
    assert run(SESSION.format(folder=str(tmp_path))) == "[]\n"


@pytest.mark.parametrize("room", ["pyc", "other_pythons"])
def test_a_session_does_not_load_what_reads_files_of_other_pythons(room):
    name = f"depyf.decompiler.{room}"
    home = "depyf.torch_hooks.entry_points.prepare_debug"
    assert run(f"import sys, {home}; print({name!r} in sys.modules)") == "False\n"
