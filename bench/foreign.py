"""Decompile .pyc files of other Pythons, and compare each text with the one that the other Python itself gets.

    python bench/foreign.py [--pythons 3.12,3.13] [--sample N] [--seed S] [--keep FOLDER] [--show K]

Compiles the standard library of each interpreter that is found (or N of its modules) with that interpreter, has the
files decompiled by it and by this one, and compares the texts byte for byte. Prints for each version how many texts are
the same and how many are proved, and the first files that differ; exits 1 if any does. A version that depyf does not
run on is only decompiled here. With --keep, the files and both texts stay in that folder.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

VERSIONS = [f"3.{minor}" for minor in range(7, 16)]
RUNS_DEPYF = [f"3.{minor}" for minor in range(8, 16)]
UNPROVED = ("# UNPROVED", "# Not source")

# What the other interpreter runs to compile modules: their paths and those of the files are lines on stdin.
COMPILE = """
import py_compile, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    source, target = line.rstrip("\\n").split("\\t")
    try:
        py_compile.compile(source, cfile=target, dfile="sample/" + target.rpartition("/")[2], doraise=True)
    except Exception:
        pass
"""
STDLIB = "import sysconfig; print(sysconfig.get_paths()['stdlib'])"
SKIPPED = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test", "idlelib", "lib2to3"}


class Comparison(NamedTuple):
    """The files of one version."""

    files: int
    same: int
    proved: int  # by this Python
    different: List[str]
    seconds: float  # of this Python, for all files


def sources(interpreter: str) -> List[str]:
    """Return the paths of the modules of an interpreter's standard library."""
    root = subprocess.run([interpreter, "-c", STDLIB], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        found += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".py")]
    return found


def compile_files(interpreter: str, chosen: Sequence[str], folder: Path) -> List[Path]:
    """Compile modules with an interpreter; return the files that it made."""
    targets = [folder / f"{number:05}_{Path(path).stem}.pyc" for number, path in enumerate(chosen)]
    lines = "".join([f"{source}\t{target}\n" for source, target in zip(chosen, targets)])
    subprocess.run([interpreter, "-c", COMPILE], input=lines, text=True, check=True)
    return [target for target in targets if target.exists()]


def write_texts(paths: Sequence[Path], suffix: str, python: str | None = None) -> None:
    """Decompile files; write each text, or the one line of an error, beside its file."""
    from depyf.decompiler import decompile

    for path in paths:
        try:
            text = decompile(str(path), python=python)
        except Exception as error:
            text = f"{type(error).__name__}: {error}\n"
        path.with_suffix(suffix).write_text(text, encoding="utf-8", errors="backslashreplace")


def compare(interpreter: str, version: str, chosen: Sequence[str], folder: Path) -> Comparison:
    """Decompile the files of one interpreter by it and by this one, side by side."""
    paths = compile_files(interpreter, chosen, folder)
    native = None
    if version in RUNS_DEPYF:
        command = [interpreter, "-B", os.path.abspath(__file__), "--native", str(folder)]
        native = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    begin = time.monotonic()
    write_texts(paths, ".here", interpreter)
    seconds = time.monotonic() - begin
    if native is not None:
        native.wait()
    same, proved, different = 0, 0, []
    for path in paths:
        here = path.with_suffix(".here").read_text(encoding="utf-8")
        there = path.with_suffix(".there")
        proved += not here.startswith(UNPROVED) and not here.split(" ", 1)[0].endswith("Error:")
        if native is None or (there.exists() and there.read_text(encoding="utf-8") == here):
            same += 1
        else:
            different.append(path.name)
    return Comparison(len(paths), same, proved, different, seconds)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pythons", default=",".join(VERSIONS), help="versions or paths, with commas between them")
    parser.add_argument("--sample", type=int, default=0, help="how many modules of each; default: all")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--keep", default="", help="folder for the files and the texts")
    parser.add_argument("--show", type=int, default=5, help="how many files that differ are named")
    parser.add_argument("--native", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.native:
        write_texts(sorted(Path(options.native).glob("*.pyc")), ".there")
        return 0
    import interpreters

    failed: Dict[str, Comparison] = {}
    missing = []
    for wanted in options.pythons.split(","):
        interpreter = interpreters.find(wanted)
        version = ".".join(interpreters.version_of(interpreter).split(".")[:2]) if interpreter else ""
        if interpreter is None or not version:
            missing.append(wanted)
            continue
        chosen = sources(interpreter)
        if options.sample:
            chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(options.keep or temporary) / version
            folder.mkdir(parents=True, exist_ok=True)
            found = compare(interpreter, version, chosen, folder)
        note = "" if version in RUNS_DEPYF else " (not compared: depyf does not run on it)"
        print(
            f"{version}: {found.files} files, {found.same} the same text{note}, {found.proved} proved, "
            f"{found.files / max(found.seconds, 0.001):.1f} files/s",
            flush=True,
        )
        for name in found.different[: options.show]:
            print(f"    differs: {name}", flush=True)
        if found.different:
            failed[version] = found
    if missing:
        print(f"not found: {', '.join(missing)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
