"""`make test` fails if the tests fail on any other CPython, and names the versions that are missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import other_pythons  # noqa: E402


@pytest.fixture
def machine(monkeypatch):
    """Fake a machine with CPython 3.12 and 3.13 but no 3.14; yield the set of environments whose tests fail."""
    failing = set()
    monkeypatch.setattr(other_pythons, "other_versions", lambda: ["3.12", "3.13", "3.14"])
    monkeypatch.setattr(other_pythons.interpreters, "find", lambda version: version if version != "3.14" else None)
    monkeypatch.setattr(other_pythons.interpreters, "version_of", lambda interpreter: f"{interpreter}.1")
    monkeypatch.setattr(other_pythons, "make_environment", lambda interpreter, folder: Path(folder).name)
    monkeypatch.setattr(other_pythons, "run_tests", lambda python, arguments, coverage: python not in failing)
    return failing


def test_a_version_that_is_not_installed_is_named_and_does_not_fail_the_others(machine, capsys):
    assert other_pythons.main([]) == 0
    output = capsys.readouterr().out
    assert "CPython 3.12.1" in output and "CPython 3.13.1" in output
    assert output.splitlines()[-1] == "not found, so not tested: CPython 3.14"


def test_a_failure_on_one_interpreter_fails_the_command_after_all_have_run(machine, capsys):
    machine.add(".venv-python3.12")
    assert other_pythons.main(["--jobs", "1"]) == 1
    output = capsys.readouterr().out
    assert "CPython 3.13.1" in output and output.splitlines()[-1] == "failed: CPython 3.12"


def test_a_single_version_is_tested_alone_and_its_absence_is_a_failure(machine, capsys):
    assert other_pythons.main(["--only", "3.13"]) == 0
    assert "CPython 3.12" not in capsys.readouterr().out
    assert other_pythons.main(["--only", "3.14"]) == 1


def test_every_supported_version_but_the_running_one_is_tried():
    running = ".".join(map(str, sys.version_info[:2]))
    supported = {f"3.{minor}" for minor in range(8, 16)}
    assert {running, *other_pythons.other_versions()} == supported
    assert running not in other_pythons.other_versions()


def test_an_environment_is_made_once_and_again_when_what_it_needs_changes(tmp_path, monkeypatch):
    made = []
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("pytest\n")
    monkeypatch.setattr(other_pythons, "REQUIREMENTS", requirements)

    def run(command, check):
        made.append(command[1:3])
        (tmp_path / "venv").mkdir(exist_ok=True)

    monkeypatch.setattr(other_pythons.interpreters, "version_of", lambda interpreter: "3.12.1")
    monkeypatch.setattr(other_pythons.interpreters, "has_pip", lambda interpreter: True)
    monkeypatch.setattr(other_pythons.subprocess, "run", run)
    for _ in range(2):
        other_pythons.make_environment("python", tmp_path / "venv")
    assert made == [["-m", "venv"], ["-m", "pip"]]
    requirements.write_text("pytest\nhypothesis\n")
    other_pythons.make_environment("python", tmp_path / "venv")
    assert len(made) == 4


def test_a_failing_test_is_a_failure_of_the_run(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    arguments = ["-c", str(tmp_path / "pytest.ini"), "--rootdir", str(tmp_path), str(tmp_path)]
    assert not other_pythons.run_tests(sys.executable, arguments)
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    assert other_pythons.run_tests(sys.executable, arguments)
