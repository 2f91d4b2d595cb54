"""Make a virtual environment for a pair of Python and torch, and run the tests that use torch there.

    make pair PYTHON=3.12 TORCH=2.9.1
    python tools/pair.py --python 3.12 --torch 2.9.1 [--venvs FOLDER] [--jobs N] [--all] [-- arguments for pytest]

PYTHON is a version, found among pyenv's interpreters or as `python3.12` on the PATH, or the path of an
interpreter.  The environment is kept and used again; the wheels of torch take 6 to 8 GB of disk each.
`--all` runs the tests of the decompiler alone, too.  The last line says what was tried and how it went, as the
table in CONTRIBUTING.md has it.
"""

from __future__ import annotations

import argparse
import datetime
import glob
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parent.parent
TESTERS = ("numpy", "pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "dill")


def find_interpreter(wanted: str) -> str:
    """The path of the interpreter: a path itself, a version of pyenv's, or a command."""
    if os.sep in wanted or not re.fullmatch(r"\d+(\.\d+)*", wanted):
        found = shutil.which(wanted)
    else:
        root = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
        installed = [path for path in glob.glob(f"{root}/versions/*/bin/python") if _is_version(path, wanted)]
        found = max(installed, key=_numbers) if installed else shutil.which(f"python{wanted}")
    if found is None:
        sys.exit(f"No Python {wanted} found: not among pyenv's versions, and no python{wanted} on the PATH.")
    return found


def _is_version(path: str, wanted: str) -> bool:
    return (_version(path) + ".").startswith(wanted + ".")


def _version(path: str) -> str:
    return Path(path).parent.parent.name


def _numbers(path: str) -> List[int]:
    return [int(number) for number in re.findall(r"\d+", _version(path))]


def make_environment(interpreter: str, torch: str, folder: Path) -> str:
    """The Python of an environment with that torch; made if it is not there yet."""
    python = str(folder / "bin" / "python")
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"torch=={torch}", *TESTERS], check=True)
        ready.touch()
    return python


def test_files(everything: bool) -> List[str]:
    """The test files that speak of torch, or all of them."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file) for file in files if everything or re.search(r"\btorch\b", file.read_text())]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True, help="3.12, 3.12.1 or a path")
    parser.add_argument("--torch", required=True, help="2.9.1")
    parser.add_argument("--venvs", default=str(ROOT / ".venv-pairs"), help="where the environments are kept")
    parser.add_argument("--jobs", default="2", help="processes of pytest")
    parser.add_argument("--all", action="store_true", help="all tests, not only those that use torch")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    torch = options.torch.replace("torch==", "")
    interpreter = find_interpreter(options.python)
    version = subprocess.check_output(
        [interpreter, "-c", "import platform; print(platform.python_version())"], text=True
    ).strip()
    folder = Path(options.venvs) / f"py{version}-torch{torch}"
    python = make_environment(interpreter, torch, folder)
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-n", options.jobs]
    command += ["--show-capture=no", *options.pytest, *test_files(options.all)]
    done = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    last = ""
    assert done.stdout is not None
    for line in done.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    result = re.sub(r" in [\d.]+s.*", "", last.strip("= "))
    print(f"| {version} | {torch} | {datetime.date.today()} | {result} |")
    return done.wait()


if __name__ == "__main__":
    sys.exit(main())
