"""Find a CPython by its version: among pyenv's interpreters, those of tools/newest_pythons.py, then on the PATH."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parent.parent
SID = Path(os.environ.get("DEPYF_SID") or ROOT / ".venv-sid")  # the folder that tools/newest_pythons.py makes
OUTSIDE = "usr/outside/bin"  # in it, the interpreters that run outside of it
VERSION = "import platform; print(platform.python_implementation(), platform.python_version())"


def find(wanted: str) -> Optional[str]:
    """Return the path of a CPython of that version (`3.12`, `3.12.1`), the newest of pyenv's first; None without one.

    A path or the name of a command is looked up as it is.
    """
    if os.sep in wanted or not re.fullmatch(r"\d+(\.\d+)*", wanted):
        return shutil.which(wanted)
    root = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    installed = [path for path in glob.glob(f"{root}/versions/*/bin/python") if _is_version(_name(path), wanted)]
    candidates = sorted(installed, key=_numbers, reverse=True)
    series = ".".join(wanted.split(".")[:2])
    candidates.append(str(SID / OUTSIDE / f"python{series}"))
    on_path = shutil.which(f"python{wanted}")
    if on_path is not None:
        candidates.append(on_path)
    return next((path for path in candidates if _is_version(version_of(path), wanted)), None)


def pip_beside(interpreter: str) -> Optional[str]:
    """Return the pip that tools/newest_pythons.py installed with an interpreter, since older ones fail on 3.15.

    None for any other interpreter.
    """
    wheels = sorted((SID / "usr/share/python-wheels").glob("pip-*.whl"))
    return str(wheels[-1] / "pip") if wheels and interpreter.startswith(str(SID / OUTSIDE)) else None


def has_pip(interpreter: str) -> bool:
    """Return whether `venv` of an interpreter installs a pip; Debian's do not."""
    command = [interpreter, "-c", "import ensurepip"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def version_of(interpreter: str) -> str:
    """Return the full version of a CPython; empty if it is missing, does not run (a shim of pyenv's) or is another."""
    command = [interpreter, "-c", VERSION]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    implementation, _, version = done.stdout.strip().partition(" ")
    return version if done.returncode == 0 and implementation == "CPython" else ""


def _is_version(version: str, wanted: str) -> bool:
    return (version + ".").startswith(wanted + ".")


def _name(path: str) -> str:
    return Path(path).parent.parent.name


def _numbers(path: str) -> List[int]:
    return [int(number) for number in re.findall(r"\d+", _name(path))]
