"""Search for interpreters of a version: among pyenv's, in the folder of tools/newest_pythons.py, on the PATH."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Iterator, List

from depyf.decompiler.bytecode.python_facts import Version

NEWEST = "usr/outside/bin"  # in a folder that tools/newest_pythons.py made, the interpreters that run outside of it


def candidates(version: Version) -> Iterator[str]:
    """Yield the paths of what may be a CPython of that version, the best first; nothing is run."""
    series = f"{version[0]}.{version[1]}"
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    names = os.listdir(root) if root.is_dir() else []
    installed = [name for name in names if re.fullmatch(re.escape(series) + r"\.\d+", name)]
    for name in sorted(installed, key=_numbers, reverse=True):
        yield str(root / name / "bin" / "python")
    checkout = Path(__file__).resolve().parents[3]
    newest = Path(os.environ.get("DEPYF_SID") or checkout / ".venv-sid") / NEWEST / f"python{series}"
    if newest.is_file():
        yield str(newest)
    on_path = shutil.which(f"python{series}")
    if on_path is not None:
        yield on_path


def _numbers(name: str) -> List[int]:
    return [int(number) for number in name.split(".")]
