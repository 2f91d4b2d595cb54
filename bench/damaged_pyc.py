"""Damage .pyc files and decompile each at the command line: proved text and exit 0, or one line and another status.

    python bench/damaged_pyc.py [--pythons 3.9,3.12] [--samples FOLDER,FOLDER] [--files N] [--seed S] [--first I]
        [--jobs J] [--cpu SECONDS] [--keep FOLDER]

Takes modules of the standard library, of this Python or of those that --pythons names, compiles them, and damages the
files: cut, flipped, spliced, lengths and
references changed, objects nested, bytes of the instructions and of the tables replaced, random bytes. Each file is
read by `depyf.__main__.main` in a child process of its own, with 1 GB of memory and a limit of CPU. File number I of a
seed is always the same, so a run can be resumed by --first. Prints how many files ended in each way, and the first
lines of what went wrong; exits 1 if there was a traceback, a crash, a hang, code of the file that was executed, or
another output than is promised. Files that went wrong are written to --keep.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import interpreters
from foreign import compile_files, sources

from depyf.__main__ import main as command_line
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.pyc import OtherVersion, read_code

MEMORY = 1 << 30
SMALL, LARGE = 6_000, 40_000  # bytes of the files that are damaged; one in LARGE_ONES is larger than SMALL
LARGE_ONES = 20
LARGEST_SOURCE, MOST_SOURCES = 60_000, 150  # of each version
EXECUTED = 98  # exit status of a process that executed code of a file
HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
GOOD = ("proved", "one line")
BAD = ("executed", "traceback", "crash", "hang", "other output")
EXTREMES = (0, 1, -1, 2, 255, 256, 65535, 1 << 24, 0x7FFFFFFF, -0x80000000)


class Outcome(NamedTuple):
    """How the command line ended on one file."""

    kind: str  # one of GOOD or BAD
    what: str  # the line that it wrote, or what went wrong
    seconds: float


Samples = Tuple[List["Sample"], List["Sample"]]  # small files, and larger ones

# ---------------------------------------------------------------- damages


class Sample(NamedTuple):
    """One whole file."""

    name: str
    data: bytes
    codes: Tuple[CodeType, ...]  # the module's, and those inside


def place(chosen: random.Random, sample: Sample) -> int:
    """Choose a byte behind the header."""
    return chosen.randrange(len(HEADER), len(sample.data))


def cut(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    return sample.data[: chosen.randrange(len(sample.data))]


def flipped(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    data = bytearray(sample.data)
    for _ in range(chosen.choice((1, 1, 2, 5, 50))):
        data[place(chosen, sample)] ^= 1 << chosen.randrange(8)
    return bytes(data)


def replaced(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    data = bytearray(sample.data)
    for _ in range(chosen.choice((1, 1, 3, 20))):
        data[chosen.randrange(len(data)) if chosen.random() < 0.1 else place(chosen, sample)] = chosen.randrange(256)
    return bytes(data)


def spliced(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    at, size = place(chosen, sample), chosen.randrange(200)
    start = place(chosen, other)
    piece = other.data[start : start + chosen.randrange(200)]
    return sample.data[:at] + piece + sample.data[at + size :]


def deleted_or_repeated(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    at, size = place(chosen, sample), chosen.randrange(1, 40)
    return sample.data[:at] + sample.data[at : at + size] * chosen.choice((0, 2, 3)) + sample.data[at + size :]


def with_other_integer(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    """Write an integer of four bytes somewhere: a length, a count, a number of a reference, a flag."""
    at = place(chosen, sample)
    return sample.data[:at] + struct.pack("<i", chosen.choice(EXTREMES)) + sample.data[at + 4 :]


def with_other_references(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    data = bytearray(sample.data)
    references = [
        at for at in range(len(HEADER), len(data) - 4) if data[at] == ord("r") and data[at + 3 : at + 5] == b"\0\0"
    ]
    for at in chosen.sample(references, min(len(references), chosen.choice((1, 2, 10)))):
        data[at + 1 : at + 5] = struct.pack("<i", chosen.choice((chosen.randrange(200), *EXTREMES)))
    return bytes(data)


def nested(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    """Put the object at a byte, if one begins there, into tuples inside each other."""
    nones = [at for at in range(len(HEADER), len(sample.data)) if sample.data[at] in b"NFT"]
    at = chosen.choice(nones) if nones else place(chosen, sample)
    levels = chosen.choice((1, 2, 50, 300, 499, 600, 20_000))
    piece = chosen.choice((b")\x01", b"\xa9\x01", b"(\x01\0\0\0", b">\x01\0\0\0")) * levels
    if chosen.random() < 0.3:  # each the one before, twice
        piece = (
            b"("
            + struct.pack("<i", 40)
            + b"".join([b"\xa9\x02" + 2 * (b"r" + struct.pack("<i", n)) for n in range(40)])
        )
    return sample.data[:at] + piece + sample.data[at:]


def random_bytes(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
    size = chosen.choice((0, 1, 10, 100, 1000))
    start = chosen.choice((0, 4, 16, 17, 41, chosen.randrange(len(sample.data))))
    return sample.data[:start] + bytes(chosen.randrange(256) for _ in range(size))


def _aimed(part: str, most: int) -> Callable[[random.Random, Sample, Sample], bytes]:
    """Return a damage of the bytes of one field of one code object; the file stays whole."""

    def damage(chosen: random.Random, sample: Sample, other: Sample) -> bytes:
        fields = [getattr(code, part, b"") for code in sample.codes]
        fields = [field for field in fields if len(field) > 3 and sample.data.count(field) == 1]
        if not fields:
            return flipped(chosen, sample, other)
        field = chosen.choice(fields)
        start = sample.data.index(field)
        data = bytearray(sample.data)
        for _ in range(chosen.randrange(1, most)):
            at = start + chosen.randrange(len(field))
            data[at] = chosen.choice(
                (chosen.randrange(256), data[at] ^ 1 << chosen.randrange(8), data[at] + 1 & 255, field[at - start - 2])
            )
        return bytes(data)

    return damage


DAMAGES: Dict[str, Callable[[random.Random, Sample, Sample], bytes]] = {
    "cut": cut,
    "flipped": flipped,
    "replaced": replaced,
    "spliced": spliced,
    "deleted or repeated": deleted_or_repeated,
    "integer": with_other_integer,
    "references": with_other_references,
    "nested": nested,
    "random": random_bytes,
    "instructions": _aimed("co_code", 4),
    "more instructions": _aimed("co_code", 30),
    "exception table": _aimed("co_exceptiontable", 4),
    "location table": _aimed("co_linetable", 6),
}


# ---------------------------------------------------------------- running

KNOWN: List[Samples] = []  # of each version; the processes are forked from this one


def samples(interpreter: str) -> Samples:
    """Return whole files of an interpreter's standard library: small ones, and larger ones."""
    chosen = [path for path in sources(interpreter) if os.path.getsize(path) < LARGEST_SOURCE]
    chosen = random.Random(0).sample(chosen, min(len(chosen), MOST_SOURCES))
    with tempfile.TemporaryDirectory() as folder:
        compile_files(interpreter, chosen, Path(folder))
        return samples_in(folder)


def samples_in(folder: str) -> Samples:
    """Return the `.pyc` files of a folder: small ones, and larger ones."""
    small: List[Sample] = []
    large: List[Sample] = []
    for path in sorted(Path(folder).glob("*.pyc")):
        data = path.read_bytes()
        if len(data) <= LARGE:
            (small if len(data) <= SMALL else large).append(Sample(path.stem, data, _codes_in(data)))
    return small, large


def _codes_in(data: bytes) -> Tuple[CodeType, ...]:
    try:
        return tuple(_codes(read_code(data)))
    except OtherVersion:
        return ()


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CODE_TYPES):
            yield from _codes(const)


def damaged(seed: str, number: int, small: List[Sample], large: List[Sample]) -> Tuple[str, bytes]:
    """Return how file `number` of a seed was made, and its bytes."""
    chosen = random.Random(f"{seed}:{number}")
    sample = chosen.choice(large if chosen.randrange(LARGE_ONES) == 0 else small)
    name = chosen.choice(list(DAMAGES))
    return f"{name}, {sample.name}", DAMAGES[name](chosen, sample, chosen.choice(small))


def tried(path: str, folder: str, cpu: int) -> Outcome:
    """Decompile a file in a child process, and return how that ended."""
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        _decompile(path, out, err, cpu)
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    with open(err, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "hang" if number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL) else "crash"
        return Outcome(kind, f"{signal.Signals(number).name} {text[-300:]}", max(seconds, time.monotonic() - begin))
    code = os.WEXITSTATUS(status)
    if "Traceback (most" in text:
        return Outcome("traceback", text[-1500:], seconds)
    if code == EXECUTED:
        return Outcome("executed", "code of the file was executed", seconds)
    if code == 0 and not text:
        return Outcome("proved", "", seconds)
    if code in (1, 2) and text.count("\n") == 1 and text.endswith("\n"):
        return Outcome("one line", text, seconds)
    return Outcome("other output", f"status {code}, {os.path.getsize(out)} bytes, {text[:300]!r}", seconds)


def _decompile(path: str, out: str, err: str, cpu: int) -> NoReturn:
    """Run the command line with its limits; never return."""
    status = 99
    try:
        for place, number in ((out, 1), (err, 2)):
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(10 * cpu)  # waiting for something is a hang, too
        sys.addaudithook(_refuse_execution)
        status = command_line(["decompile", path])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    os._exit(status)


def _refuse_execution(event: str, arguments: Tuple[Any, ...]) -> None:
    """End the process where code of a sample is executed."""
    if event == "exec" and getattr(arguments[0], "co_filename", "").startswith("sample/"):
        os._exit(EXECUTED)


def work(
    task: Tuple[str, int, int, int, int, str],
) -> Tuple[Dict[str, int], Dict[str, int], List[str], Tuple[float, str]]:
    """Run every `jobs`-th file; return the outcomes, those of each damage, what went wrong, and the slowest."""
    seed, first, last, jobs, cpu, keep = task
    counts: collections.Counter[str] = collections.Counter()
    by_damage: collections.Counter[str] = collections.Counter()
    wrong: List[str] = []
    slowest = (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged.pyc")
        for number in range(first, last, jobs):
            if (number - first) % (1000 * jobs) == 0 and number > first:
                print(f"files from {first} up to {number}: {dict(counts)}", file=sys.stderr, flush=True)
            how, data = damaged(seed, number, *KNOWN[number % len(KNOWN)])
            with open(path, "wb") as file:
                file.write(data)
            outcome = tried(path, folder, cpu)
            reason = " (not enough memory)" if "MemoryError" in outcome.what and outcome.kind == "one line" else ""
            counts[outcome.kind + reason] += 1
            by_damage[f"{how.split(',')[0]}: {outcome.kind}"] += 1
            slowest = max(slowest, (outcome.seconds, f"file {number} ({how})"))
            if outcome.kind not in GOOD:
                wrong.append(f"file {number} ({how}): {outcome.kind}: {outcome.what}")
                print(wrong[-1][:2000], flush=True)
                if keep:
                    with open(os.path.join(keep, f"{seed}_{number}.pyc"), "wb") as file:
                        file.write(data)
    return dict(counts), dict(by_damage), wrong, slowest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pythons", default=sys.executable, help="versions or paths, with commas between them")
    parser.add_argument("--samples", default="", help="folders of .pyc files to damage instead, with commas between")
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", type=int, default=20, help="seconds after which a file counts as a hang")
    parser.add_argument("--keep", default="", help="folder for files that went wrong")
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    found = {wanted: interpreters.find(wanted) for wanted in ([] if options.samples else options.pythons.split(","))}
    KNOWN.extend([samples(path) for path in found.values() if path is not None])
    KNOWN.extend([samples_in(folder) for folder in options.samples.split(",") if folder])
    missing = [wanted for wanted, path in found.items() if path is None]
    if missing:
        print(f"not found: {', '.join(missing)}")
    last = options.first + options.files
    tasks = [
        (options.seed, options.first + job, last, options.jobs, options.cpu, options.keep)
        for job in range(options.jobs)
    ]
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        results = pool.map(work, tasks, chunksize=1)
    counts: collections.Counter[str] = collections.Counter()
    by_damage: collections.Counter[str] = collections.Counter()
    for one, each, _, _ in results:
        counts.update(one)
        by_damage.update(each)
    for name, count in sorted(by_damage.items()):
        print(f"{count:7}  {name}")
    print(", ".join([f"{name} {counts[name]}" for name in (*GOOD, *BAD)]), end="")
    print(
        "".join(
            [f", of the lines{name[8:]} {count}" for name, count in counts.items() if name[8:] and name[:8] == GOOD[1]]
        )
    )
    print(f"{options.files} files of seed {options.seed}, slowest %.1f s: %s" % max(result[3] for result in results))
    return 1 if any(result[2] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
