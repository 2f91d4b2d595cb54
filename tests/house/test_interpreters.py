"""`make pair`: the tests under another pair of Python and torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from repository import ROOT


@pytest.mark.parametrize("wanted", ["{0}.{1}", "{0}.{1}.{2}"])
def test_the_pair_command_finds_an_interpreter_by_version(tmp_path, wanted):
    wanted = wanted.format(*sys.version_info)
    interpreter = tmp_path / "versions" / ".".join(map(str, sys.version_info[:3])) / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    (tmp_path / "versions" / f"{sys.version_info[0]}.{sys.version_info[1]}0.0" / "bin").mkdir(parents=True)
    program = f"import pair; print(pair.find_interpreter({wanted!r}))"
    environment = {"PYENV_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT / "tools"), "PATH": ""}
    found = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout.strip() == str(interpreter)
