"""Evidence that a change of depyf changes nothing that users see: the same programs before and after it.

    python tools/dumps.py make OUT --path CHECKOUT [--only NAME ...]
    python tools/dumps.py compare OUT_A OUT_B
    python tools/dumps.py list

`make` runs each program of `dump_programs/` in a process of its own, with depyf imported from CHECKOUT, and keeps in
OUT/<program>/ everything that it wrote, what it printed (`stdout`, `stderr`) and its exit status.  `compare` prints the
files that differ byte for byte, each with the beginning of a unified diff, and exits with 1 if there are any.

The programs are copies of what tests run, on purpose: both checkouts must run the same ones, whatever their tests are.

Paths are part of what is compared.  So depyf and the programs are copied to one work folder, the same for every run,
and the programs run there; a second `make` waits until the first is done.

Importing torch takes longer than most programs.  They are forked from a process (`_forking.py`) that has imported torch
and nothing of depyf; those that start processes themselves (FRESH) get an interpreter of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fcntl
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "dump_programs"
WORK = Path(tempfile.gettempdir()) / "depyf_dumps"

# Names of files that differ between two runs of one program: times, process ids.
EXCLUDED = {"timings.json", "times.js", "depyf_journal.jsonl"}

# Programs that need an interpreter of their own: they start processes, or import depyf before torch.
FRESH = {"command_line", "drop_in", "example_toy", "forked", "killed", "ranks", "readme"}

# Programs that are run once for each combination of arguments.
ARGUMENTS = {
    "matrix": list(
        itertools.product(
            ("eager", "aot_eager", "inductor"), ("no_grad", "grad"), ("static", "dynamic"), ("function", "module")
        )
    )
}

DIFFERENCES_SHOWN = 12  # lines of diff for each file
SECONDS = 600  # for one program


def programs() -> Dict[str, List[str]]:
    """Name -> the file of the program, without its suffix, and its arguments."""
    found: Dict[str, List[str]] = {"example_toy": ["example_toy"]}
    for path in sorted(PROGRAMS.glob("[!_]*.py")):
        for arguments in ARGUMENTS.get(path.stem, [()]):
            found["-".join((path.stem, *arguments))] = [path.stem, *arguments]
    return found


# ---------------------------------------------------------------- make


def make(out: Path, checkout: Path, only: List[str], work: Path) -> int:
    """Run the programs; the number of those that failed."""
    chosen = {name: what for name, what in programs().items() if not only or name in only or what[0] in only}
    if not chosen:
        sys.exit(f"No such program: {', '.join(only)}. `list` prints the names.")
    work.mkdir(parents=True, exist_ok=True)
    failed = 0
    with alone(work), environment_of(work):
        copy_what_runs(checkout, work)
        with Forks(work) as forks:
            for name, (program, *arguments) in chosen.items():
                began = time.monotonic()
                folder = work / "run"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                command = [str(work / "programs" / f"{program}.py"), *arguments]
                status = run_fresh(command, folder) if program in FRESH else forks.run(command, folder)
                (folder / "exit_status").write_text(f"{status}\n")
                shutil.rmtree(out / name, ignore_errors=True)
                out.mkdir(parents=True, exist_ok=True)
                shutil.move(str(folder), str(out / name))
                failed += status != 0
                print(f"{name}: exit status {status}, {time.monotonic() - began:.1f} s", flush=True)
    return failed


@contextlib.contextmanager
def alone(work: Path) -> Iterator[None]:
    """Wait until no other `make` uses the work folder."""
    with open(work / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting until another run in {work} is done", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def environment_of(work: Path) -> Iterator[None]:
    """The environment variables of the programs: the same for every run."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({name: before[name] for name in kept if name in before})
    os.environ.update(
        COLUMNS="120",
        CUDA_VISIBLE_DEVICES="",
        MASTER_ADDR="127.0.0.1",
        NO_COLOR="1",
        OMP_NUM_THREADS="1",
        PYTHONHASHSEED="0",
        PYTHONPATH=str(work / "site"),
        TMPDIR=str(work / "tmp"),
        TORCH_LOGS_FORMAT="%(levelname)s: %(message)s",  # no times
        TORCHINDUCTOR_CACHE_DIR=str(work / "inductor"),  # compiled kernels are used again; what torch records is not:
        TORCHINDUCTOR_FX_GRAPH_CACHE="0",
        TORCHINDUCTOR_AUTOGRAD_CACHE="0",
        TORCHINDUCTOR_COMPILE_THREADS="1",
    )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def copy_what_runs(checkout: Path, work: Path) -> None:
    """Put depyf, the programs and the example where every run has them."""
    for name in ("site", "programs", "tmp"):
        shutil.rmtree(work / name, ignore_errors=True)
    (work / "tmp").mkdir()
    shutil.copytree(checkout / "depyf", work / "site" / "depyf", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PROGRAMS, work / "programs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(checkout / "examples" / "toy.py", work / "programs" / "example_toy.py")


def run_fresh(command: List[str], folder: Path) -> int:
    """Run a program in an interpreter of its own."""
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        done = subprocess.run(
            [sys.executable, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=SECONDS
        )
    return done.returncode


class Forks:
    """A process that has imported torch and is forked for each program; started when it is first needed."""

    def __init__(self, work: Path) -> None:
        self._file = work / "programs" / "_forking.py"
        self._process: Optional[subprocess.Popen[str]] = None

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def run(self, command: List[str], folder: Path) -> int:
        """Run a program in a forked process."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(self._file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\t".join([str(folder), *command]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


# ---------------------------------------------------------------- compare


def files_below(folder: Path) -> Dict[str, Path]:
    return {
        str(path.relative_to(folder)): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in EXCLUDED
    }


def compare(one: Path, other: Path) -> int:
    """Print what differs, program by program; the number of files."""
    total, differing = 0, 0
    names = {path.name for folder in (one, other) for path in folder.iterdir() if path.is_dir()}
    for name in sorted(names):
        first, second = files_below(one / name), files_below(other / name)
        lines: List[str] = []
        for file in sorted({**first, **second}):
            total += 1
            if file not in second or file not in first:
                lines.append(f"  {file}: only in {one if file in first else other}")
            elif first[file].read_bytes() != second[file].read_bytes():
                lines += difference(file, first[file], second[file])
        differing += sum(not line.startswith("      ") for line in lines)
        if lines:
            print("\n".join([f"{name}:", *lines]))
    print(f"{len(names)} programs, {total} files: {differing or 'none'} {'differs' if differing == 1 else 'differ'}")
    return differing


def difference(file: str, one: Path, other: Path) -> List[str]:
    """The name of a file and the beginning of a unified diff, in which long lines are broken after commas."""
    try:
        texts = [path.read_text(encoding="utf-8").replace(", ", ",\n").splitlines() for path in (one, other)]
    except UnicodeDecodeError:
        return [f"  {file}: binary, {one.stat().st_size} and {other.stat().st_size} bytes"]
    lines = [line for line in difflib.unified_diff(*texts, n=1, lineterm="") if line[:3] not in ("---", "+++")]
    shown = [f"      {line[:200]}" for line in lines[:DIFFERENCES_SHOWN]]
    if len(lines) > DIFFERENCES_SHOWN:
        shown.append(f"      ... and {len(lines) - DIFFERENCES_SHOWN} more lines of diff")
    return [f"  {file}", *shown]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0], epilog="Both runs need the same --work, torch and Python."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("make", help="run the programs")
    command.add_argument("out", type=Path)
    command.add_argument("--path", type=Path, required=True, help="the checkout whose depyf is imported")
    command.add_argument("--only", nargs="+", default=[], help="names of programs, as `list` prints them")
    command.add_argument("--work", type=Path, default=WORK, help=f"where they run (default: {WORK})")
    command = commands.add_parser("compare", help="compare two folders that `make` wrote")
    command.add_argument("one", type=Path)
    command.add_argument("other", type=Path)
    commands.add_parser("list", help="print the names of the programs")
    options = parser.parse_args()
    if options.command == "make":
        failed = make(options.out.resolve(), options.path.resolve(), options.only, options.work)
        print(f"{failed} programs failed" if failed else "all programs ended well")
        return int(failed > 0)
    if options.command == "compare":
        return int(compare(options.one, options.other) > 0)
    print("\n".join(programs()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
