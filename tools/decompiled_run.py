"""Run a program such that every module that it imports is decompiled, and the text compiled and run in its place.

    python tools/decompiled_run.py [--plain] [--texts FOLDER] PROGRAM [ARGUMENTS]

The texts are those of `depyf.decompile(..., strict=True)`: proved, and complete as they are. PROGRAM runs in a child
process of this interpreter (`import_hook.py`), without site packages and frozen modules, so the standard library goes
through the hook as well, except for what CPython loads before anything else. FOLDER keeps the texts for other runs.
With --plain the program runs in the same way from its own sources. Prints at the end how many modules ran from their
texts and which did not, and exits with the status of the program.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
HOOK = ROOT / "tools" / "import_hook.py"


class Run(NamedTuple):
    """How a program ended."""

    status: Optional[int]  # None: it was killed after the time given
    decompiled: List[str]  # the source files that ran from their texts
    others: Dict[str, str]  # those that did not, and why


class TextStore:
    """The texts of source files, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.decompiled: List[str] = []
        self.others: Dict[str, str] = {}

    def place_of(self, path: str) -> str:
        """Return the path of the text of a source file; empty if it has none."""
        with open(path, "rb") as file:
            source = file.read()
        key = hashlib.sha256(b"%s\0%s\0%s" % (sys.version.encode(), path.encode(), source)).hexdigest()[:24]
        place = self.folder / f"{key}_{Path(path).name}"
        if not place.exists() and path not in self.others:
            self._write(path, source, place)
        if not place.exists():
            return ""
        self.decompiled.append(path)
        return str(place)

    def _write(self, path: str, source: bytes, place: Path) -> None:
        from depyf.decompiler import decompile
        from depyf.text.quiet_compile import compile_quietly

        try:
            text = decompile(compile_quietly(source, path), strict=True)
        except Exception as error:
            self.others[path] = f"{type(error).__name__}: {error}"[:500]
            return
        temporary = place.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(place)


def run(
    program: str, arguments: Sequence[str], store: Optional[TextStore], *, seconds: float = 600, quiet: bool = False
) -> Run:
    """Run a program under the hook, or without it where there is no store."""
    flags = ["-S", "-B", *(["-X", "frozen_modules=off"] if sys.version_info >= (3, 11) else [])]
    pipes = [] if store is None else [*os.pipe(), *os.pipe()]  # answers: read, write; questions: read, write
    ends = ["-1", "-1"] if store is None else [str(pipes[0]), str(pipes[3])]
    command = [sys.executable, *flags, str(HOOK), *ends, os.path.abspath(program), *arguments]
    output = subprocess.DEVNULL if quiet else None
    passed = () if store is None else (pipes[0], pipes[3])
    child = subprocess.Popen(command, pass_fds=passed, stdout=output, stderr=output)
    end = time.monotonic() + seconds
    try:
        if store is not None:
            os.close(pipes[0])
            os.close(pipes[3])
            end = _serve(child, store, pipes[2], pipes[1], end)
        status: Optional[int] = child.wait(max(end - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        status = None
    finally:
        for pipe in pipes[1:3]:
            os.close(pipe)
    return Run(status, [], {}) if store is None else Run(status, store.decompiled, store.others)


def _serve(child: subprocess.Popen[bytes], store: TextStore, questions: int, answers: int, end: float) -> float:
    """Answer the questions of a child until it ends; return its deadline: the time of the texts is not its own."""
    waiting = b""
    while child.poll() is None and time.monotonic() < end:
        if not select.select([questions], [], [], 0.05)[0]:
            continue
        piece = os.read(questions, 65536)
        if not piece:
            return end
        *paths, waiting = (waiting + piece).split(b"\n")
        for path in paths:
            begin = time.monotonic()
            place = store.place_of(os.fsdecode(path))
            end += time.monotonic() - begin
            try:
                os.write(answers, os.fsencode(place) + b"\n")
            except BrokenPipeError:
                return end
    return end


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="run the program from its own sources")
    parser.add_argument("--texts", default="", help="folder that keeps the texts")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        store = None if options.plain else TextStore(Path(options.texts or temporary))
        done = run(options.program, options.arguments, store, seconds=24 * 3600)
    if store is not None:
        print(f"{len(done.decompiled)} modules ran from their texts, {len(done.others)} did not", file=sys.stderr)
        for path, why in done.others.items():
            print(f"    {path}: {why}", file=sys.stderr)
    return 1 if done.status is None else done.status


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
