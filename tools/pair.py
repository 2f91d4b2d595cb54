"""Make a virtual environment for a pair of Python and torch, and run the tests that use torch there.

    make pair PYTHON=3.12 TORCH=2.9.1
    python tools/pair.py --python 3.12 --torch 2.9.1 [--venvs FOLDER] [--jobs N] [--all] [-- arguments for pytest]
    python tools/pair.py --inside .venv-sid [--jobs N] [--all] [-- arguments for pytest]

PYTHON is a version, found among pyenv's interpreters or as `python3.12` on the PATH, or the path of an
interpreter.  The environment is kept and used again; the wheels of torch take 6 to 8 GB of disk each.
`--inside` runs them in a folder that `tools/newest_pythons.py --torch` made, with Debian's own torch; it needs root.
`--all` also runs the test files in which torch does not occur.  The last line is a row for the table in
docs/test-runs.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import interpreters

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tests" / "requirements.txt"


def make_environment(interpreter: str, torch: str, folder: Path) -> str:
    """Return the Python of an environment with that torch; make it if it is missing."""
    python = str(folder / "bin" / "python")
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
        packages = [f"torch=={torch}", "numpy<2" if torch.startswith("2.2.") else "numpy", "-r", str(REQUIREMENTS)]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.touch()
    return python


def test_files(everything: bool) -> List[str]:
    """Return the test files that use torch, themselves or by a module of tests/support; or all of them."""
    texts = {file: file.read_text() for file in sorted((ROOT / "tests").rglob("*.py"))}
    helpers = {file.stem for file, text in texts.items() if file.parent.name == "support" and _USES_TORCH.search(text)}
    is_used = re.compile(rf"{_USES_TORCH.pattern}|\b(?:{'|'.join(sorted(helpers))})\b")
    tests = [(file, text) for file, text in texts.items() if file.name.startswith("test_")]
    return [str(file) for file, text in tests if everything or is_used.search(text)]


_USES_TORCH = re.compile(r"\btorch")  # torch_hooks and torch_probes, too


def entered(folder: Path) -> List[str]:
    """Return the command that runs another in a folder of newest_pythons.py, with this checkout and terminals in it."""
    # In a mount namespace of its own, so that nothing stays mounted afterwards.
    mounts = 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mkdir -p "$1$2"; mount --bind "$2" "$1$2"'
    script = f'set -e; {mounts}; folder=$1; root=$2; shift 2; exec chroot "$folder" env -C "$root" "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", str(folder), str(ROOT)]


def versions_of(command: List[str]) -> List[str]:
    """Return the versions of Python and torch that an interpreter has."""
    program = "import platform, torch; print(platform.python_version(), torch.__version__)"
    return subprocess.run([*command, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def environment_of(options: argparse.Namespace) -> List[str]:
    """Return the command that starts the Python of a pair; make its environment if it is missing."""
    if options.inside:
        return [*entered(Path(options.inside).resolve()), "python3"]
    torch = options.torch.replace("torch==", "")
    interpreter = interpreters.find(options.python)
    if interpreter is None:
        sys.exit(f"No Python {options.python} found: not among pyenv's versions, and none of that name on the PATH.")
    folder = Path(options.venvs) / f"py{interpreters.version_of(interpreter)}-torch{torch}"
    return [make_environment(interpreter, torch, folder)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", help="3.12, 3.12.1 or a path")
    parser.add_argument("--torch", help="2.9.1")
    parser.add_argument("--inside", help="a folder of newest_pythons.py, in the place of --python and --torch")
    parser.add_argument("--venvs", default=str(ROOT / ".venv-pairs"), help="where the environments are kept")
    parser.add_argument("--jobs", default="2", help="processes of pytest")
    parser.add_argument("--all", action="store_true", help="all tests, not only those that use torch")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    if not options.inside and not (options.python and options.torch):
        parser.error("--python and --torch are needed, or --inside")
    python = environment_of(options)
    version, torch = versions_of(python)
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT)}
    if options.inside:
        environment["USE_LIBUV"] = "0"  # Debian builds torch without it (`torchrun` asks for it all the same)
    command = [*python, "-m", "pytest", "-p", "no:cacheprovider", "-n", options.jobs]
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
