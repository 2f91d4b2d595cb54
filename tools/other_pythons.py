"""Run the tests that need no torch on every other CPython that depyf supports.

    python tools/other_pythons.py [--only 3.8] [--jobs N] [--venvs FOLDER] [--coverage] [-- arguments for pytest]

`make test` ends with this, and `make plain PYTHON=3.8` runs one version alone: then a missing one is a failure.
Interpreters are found among pyenv's, in the folder of tools/newest_pythons.py and on the PATH; each gets an environment
without torch (`.venv-python3.12`), which is kept and used again.
Versions that are not found are named in the last line.
The exit status is 0 only if the tests passed on every interpreter that was found.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import List, Sequence

import interpreters

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tests" / "requirements.txt"
sys.path.insert(0, str(ROOT))

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION, facts_for  # noqa: E402


def other_versions() -> List[str]:
    """Return the CPython versions that depyf runs on, without the one that runs this."""
    versions = [(3, minor) for minor in range(8, 100)]
    return [f"{major}.{minor}" for major, minor in versions
            if facts_for((major, minor)).runs_depyf and (major, minor) != RUNNING_VERSION]  # fmt: skip


def make_environment(interpreter: str, folder: Path) -> str:
    """Return the Python of an environment that can run the tests; make it if it is missing or out of date."""
    python = str(folder / "bin" / "python")
    ready = folder / "ready"
    wanted = f"{interpreters.version_of(interpreter)}\n{REQUIREMENTS.read_text()}"
    if not ready.exists() or ready.read_text() != wanted:
        pip = interpreters.pip_beside(interpreter)
        own = pip is None and interpreters.has_pip(interpreter)  # newer ones do not run on older Pythons
        subprocess.run(
            [interpreter, "-m", "venv", "--clear", *(() if own else ("--without-pip",)), str(folder)], check=True
        )
        other = [python, pip] if pip is not None else [sys.executable, "-m", "pip", "--python", python]
        installer = [python, "-m", "pip"] if own else other
        subprocess.run([*installer, "install", "--quiet", "-r", str(REQUIREMENTS)], check=True)
        ready.write_text(wanted)
    return python


def run_tests(python: str, arguments: Sequence[str], coverage: bool = False) -> bool:
    """Run pytest in an environment without torch, where tests/conftest.py collects only what can run."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runner = ["coverage", "run", "-m", "pytest"] if coverage else ["pytest"]
    command = [python, "-m", *runner, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="3.8, 3.8.18 or a path: this one alone")
    parser.add_argument("--jobs", default="2", help="processes of pytest")
    parser.add_argument("--venvs", default=str(ROOT), help="where the environments are kept")
    parser.add_argument("--coverage", action="store_true", help="measure, for `coverage combine`")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args(arguments)
    missing, failed = [], []
    for version in [options.only] if options.only else other_versions():
        interpreter = interpreters.find(version)
        if interpreter is None:
            missing.append(f"CPython {version}")
            continue
        full = interpreters.version_of(interpreter)
        print(f"\nCPython {full}, without torch:", flush=True)
        python = make_environment(interpreter, Path(options.venvs) / f".venv-python{'.'.join(full.split('.')[:2])}")
        if not run_tests(python, ["-n", options.jobs, *options.pytest], options.coverage):
            failed.append(f"CPython {version}")
    if missing:
        print("not found, so not tested: " + ", ".join(missing))
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed or (missing and options.only) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
