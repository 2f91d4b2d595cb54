"""`make test` and `make pair` use exactly the requested version of Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from repository import ROOT

RUNNING = ".".join(map(str, sys.version_info[:3]))
SERIES = ".".join(map(str, sys.version_info[:2]))


def found(tmp_path, wanted, path=""):
    program = f"import interpreters; print(interpreters.find({wanted!r}))"
    environment = {"PYENV_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT / "tools"), "PATH": path}
    environment["DEPYF_SID"] = str(tmp_path / "sid")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def of_pyenv(tmp_path, version):
    interpreter = tmp_path / "versions" / version / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    return interpreter


@pytest.mark.parametrize("wanted", [SERIES, RUNNING])
def test_an_interpreter_of_pyenv_is_found_by_its_version(tmp_path, wanted):
    interpreter = of_pyenv(tmp_path, RUNNING)
    interpreter.symlink_to(sys.executable)
    of_pyenv(tmp_path, SERIES + "0.0").symlink_to(sys.executable)
    assert found(tmp_path, wanted) == str(interpreter)


def test_a_shim_that_runs_nothing_is_not_taken_for_an_interpreter(tmp_path):
    shim = tmp_path / "shims" / f"python{SERIES}"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert found(tmp_path, SERIES, path=str(shim.parent)) == "None"
    shim.unlink()
    shim.symlink_to(sys.executable)
    assert found(tmp_path, SERIES, path=str(shim.parent)) == str(shim)


@pytest.mark.parametrize("wanted", [SERIES, RUNNING])
def test_an_interpreter_of_the_newest_suite_is_found_where_it_was_made(tmp_path, wanted):
    interpreter = tmp_path / "sid" / "usr" / "outside" / "bin" / f"python{SERIES}"
    interpreter.parent.mkdir(parents=True)
    assert found(tmp_path, wanted) == "None"
    interpreter.symlink_to(sys.executable)
    assert found(tmp_path, wanted) == str(interpreter)
    assert found(tmp_path, SERIES + ".999") == "None"
