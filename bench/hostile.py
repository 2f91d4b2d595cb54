"""Change bytecode and exception tables at random, and decompile the result in child processes with limits.

    python bench/hostile.py [--mutants N] [--seed N] [--seconds 1] [--megabytes 1000] [--keep FOLDER]

Takes random functions of the standard library and changes an opcode, an argument, a jump, or an entry of the exception
table, once or a few times. Counts what became of each: proved, a listing, and the failures: crashes of the process,
exceptions that leave the decompiler, more CPU seconds or memory than allowed. The first of each kind of failure is
shown; --keep writes them as marshalled code objects.
"""

from __future__ import annotations

import argparse
import collections
import gc
import marshal
import os
import pathlib
import pickle
import random
import resource
import signal
import sys
import time
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from reflexive import codes, standard_library  # noqa: E402

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION  # noqa: E402
from depyf.decompiler.decode import problem  # noqa: E402
from depyf.decompiler.decode.instructions import (  # noqa: E402
    OPCODE_TABLES,
    exception_ranges,
    opcode_widths,
    raw_instructions,
)
from depyf.decompiler.pipeline import OUT_OF_MEMORY, decompile_frame  # noqa: E402

TABLE = OPCODE_TABLES[RUNNING_VERSION]
# Not those that only the interpreter writes: reading `co_code` of such code crashes in C.
OPCODES = sorted(set(opcode_widths(RUNNING_VERSION)) - {0})
WIDTHS = opcode_widths(RUNNING_VERSION)
BY_WIDTH: Dict[int, List[int]] = {}
for _opcode in OPCODES:
    BY_WIDTH.setdefault(WIDTHS[_opcode], []).append(_opcode)
Entry = List[int]  # start, length, target, depth, lasti: in code units


class Timeout(BaseException):
    """The CPU seconds of one mutant are over."""


def another_opcode(code: CodeType, r: random.Random) -> CodeType:
    raw = r.choice(raw_instructions(code, RUNNING_VERSION))
    data = bytearray(code.co_code)
    data[raw.offset] = r.choice(BY_WIDTH[raw.after - raw.offset])
    return code.replace(co_code=bytes(data))


def another_argument(code: CodeType, r: random.Random) -> CodeType:
    raw = r.choice(raw_instructions(code, RUNNING_VERSION))
    data = bytearray(code.co_code)
    near = (raw.arg + r.choice((-2, -1, 1, 2))) & 255
    data[raw.offset + 1] = r.choice((near, near, near, 0, 1, r.randrange(256)))
    return code.replace(co_code=bytes(data))


def another_jump(code: CodeType, r: random.Random) -> Optional[CodeType]:
    instructions = raw_instructions(code, RUNNING_VERSION)
    jumps = [raw for raw in instructions if "JUMP" in raw.opname or raw.opname in ("FOR_ITER", "SEND")]
    if not jumps:
        return None
    raw = r.choice(jumps)
    target = r.choice(instructions).start
    distance = raw.after - target if "BACKWARD" in raw.opname else target - raw.after
    if not 0 <= distance // 2 < 256:
        return None
    data = bytearray(code.co_code)
    data[raw.offset + 1] = distance // 2
    return code.replace(co_code=bytes(data))


def two_exchanged(code: CodeType, r: random.Random) -> Optional[CodeType]:
    instructions = raw_instructions(code, RUNNING_VERSION)
    at = r.randrange(len(instructions))
    first, second = instructions[at], instructions[(at + 1) % len(instructions)]
    if second.start < first.after:
        return None
    data = code.co_code
    new = data[: first.start] + data[second.start : second.after] + data[first.start : first.after]
    return code.replace(co_code=new + data[second.after :])


def one_lost(code: CodeType, r: random.Random) -> CodeType:
    raw = r.choice(raw_instructions(code, RUNNING_VERSION))
    data = bytearray(code.co_code)
    nop = next(number for number, name in TABLE.OPNAMES.items() if name == "NOP")
    for offset in range(raw.offset, raw.after, 2):
        data[offset : offset + 2] = bytes([nop, 0])
    return code.replace(co_code=bytes(data))


def written(entries: List[Entry]) -> bytes:
    """Return an exception table."""
    table = bytearray()
    for start, length, target, depth, lasti in entries:
        first = len(table)
        for value in (start, length, target, depth << 1 | lasti):
            digits = [value & 63]
            while value > 63:
                value >>= 6
                digits.append(value & 63 | 64)
            table += bytes(reversed(digits))
        table[first] |= 128
    return bytes(table)


def another_table(code: CodeType, r: random.Random) -> Optional[CodeType]:
    ranges = exception_ranges(code)
    entries = [[e.start // 2, (e.end - e.start) // 2, e.target // 2, e.depth, int(e.lasti)] for e in ranges]
    units = [raw.start // 2 for raw in raw_instructions(code, RUNNING_VERSION)]
    if not entries:
        start = r.choice(units)
        entries = [[start, 1, r.choice(units), r.randrange(3), r.randrange(2)]]
        return code.replace(co_exceptiontable=written(entries))
    entry = r.choice(entries)
    what = r.randrange(8)
    if what < 2:
        entry[2] = r.choice([other[2] for other in entries])
    elif what == 2:
        entry[2] = r.choice(units)
    elif what == 3:
        entry[3] = max(0, entry[3] + r.choice((-1, 1)))
    elif what == 4:
        entry[4] ^= 1
    elif what == 5:
        entries.remove(entry)
    elif what == 6:
        entry[0], entry[1] = entry[0] + 1, max(entry[1] - 1, 0)
    else:
        entry[1] = max(0, entry[1] + r.choice((-1, 1, 2)))
    return code.replace(co_exceptiontable=written(entries))


def damaged_table(code: CodeType, r: random.Random) -> Optional[CodeType]:
    table = bytearray(code.co_exceptiontable)
    if not table:
        return None
    table[r.randrange(len(table))] = r.randrange(256)
    return code.replace(co_exceptiontable=bytes(table[: r.choice((len(table), len(table), len(table) - 1))]))


def another_field(code: CodeType, r: random.Random) -> CodeType:
    changes: List[Dict[str, Any]] = [
        {"co_stacksize": r.choice((0, 1, 2, code.co_stacksize + 50))},
        {"co_flags": code.co_flags ^ r.choice((0x20, 0x80, 0x200, 0x1, 0x100))},
        {"co_consts": code.co_consts[: r.randrange(len(code.co_consts) + 1)]},
        {"co_names": code.co_names[: r.randrange(len(code.co_names) + 1)]},
    ]
    return code.replace(**r.choice(changes))


MUTATIONS: Dict[str, Tuple[int, Callable[[CodeType, random.Random], Optional[CodeType]]]] = {
    "opcode": (5, another_opcode), "argument": (5, another_argument), "jump": (5, another_jump),
    "exchange": (2, two_exchanged), "loss": (2, one_lost), "table": (8, another_table),
    "bytes of the table": (1, damaged_table), "field": (1, another_field),
}  # fmt: skip


def mutant(code: CodeType, r: random.Random) -> Optional[Tuple[str, CodeType]]:
    """Return the names of the changes and the changed code, or None."""
    names = []
    for _ in range(r.choice((1, 1, 1, 1, 2, 3))):
        name = r.choices(list(MUTATIONS), [weight for weight, _ in MUTATIONS.values()])[0]
        try:
            new = MUTATIONS[name][1](code, r)
        except (ValueError, OverflowError, KeyError, IndexError):
            return None
        if new is not None:
            code = new
            names.append(name)
    return (" + ".join(names), code) if names else None


def functions(r: random.Random, most_bytes: int) -> Iterator[CodeType]:
    """Yield random functions of the standard library, without end."""
    paths = list(standard_library())
    while True:
        path = r.choice(paths)
        try:
            inside = list(codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))[1:]
        except (SyntaxError, ValueError):
            continue
        inside = [code for code in inside if len(code.co_code) <= most_bytes]
        yield from r.sample(inside, min(len(inside), 8))


class Outcome(NamedTuple):
    """What became of one mutant."""

    kind: str
    detail: str
    seconds: float


def decompiled(code: CodeType, seconds: float) -> Outcome:
    """Decompile within the limits of this process."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    begin = time.process_time()
    try:
        well_formed = problem(code) is None
        result = decompile_frame(code)
    except Timeout:
        return Outcome("HANGS", "", time.process_time() - begin)
    except MemoryError:
        return Outcome("MEMORY", "", time.process_time() - begin)
    except Exception as error:
        return Outcome("RAISES", f"{type(error).__name__}: {error}"[:200], time.process_time() - begin)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    kind = f"{'well formed' if well_formed else 'malformed'}, {result.verdict.grade.name} by {result.rung}"
    if OUT_OF_MEMORY in result.verdict.reason:
        kind = "MEMORY"
    elif result.bugs:
        kind = f"BUG {result.bugs[0]}"[:110]
    return Outcome(kind, "; ".join(result.bugs)[:200], time.process_time() - begin)


def child(write: int, options: argparse.Namespace, first: int) -> None:
    """Decompile mutants from number `first` on and write each outcome to the pipe."""

    def stop(number: int, frame: Any) -> None:
        raise Timeout

    signal.signal(signal.SIGPROF, stop)
    limit = options.megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with os.fdopen(write, "wb") as out:
        for number, name, code in numbered(options, first):
            pickle.dump((number, name, marshal.dumps(code)), out)
            out.flush()
            pickle.dump(decompiled(code, options.seconds), out)
            out.flush()
            if number % 50 == 0:
                gc.collect()


def numbered(options: argparse.Namespace, first: int) -> Iterator[Tuple[int, str, CodeType]]:
    """Yield (number, name, code) of the mutants, the same ones for the same seed."""
    number = first
    while number < options.mutants:
        block = number // options.block
        r = random.Random(options.seed * 1_000_003 + block)
        source = functions(r, options.bytes)
        for at in range(block * options.block, (block + 1) * options.block):
            found = None
            while found is None:
                found = mutant(next(source), r)
            if at >= number:
                yield (at, *found)
        number = (block + 1) * options.block


def main() -> None:
    """Run the mutants and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=20_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choices")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of one mutant")
    parser.add_argument("--megabytes", type=int, default=1000, help="address space of the process")
    parser.add_argument("--bytes", type=int, default=4000, help="largest function that is changed")
    parser.add_argument("--block", type=int, default=50, help="mutants made from one seed")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--keep", default="", help="folder for the code objects of failures")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    shown: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    following = options.first
    while following < options.mutants:
        read, write = os.pipe()
        process = os.fork()
        if not process:
            os.close(read)
            try:
                child(write, options, following)
            finally:
                os._exit(0)
        os.close(write)
        last: Any = None
        outcome: Optional[Outcome] = None
        with os.fdopen(read, "rb") as results:
            while True:
                try:
                    last = pickle.load(results)
                    outcome = None
                    outcome = pickle.load(results)
                except (EOFError, pickle.UnpicklingError):
                    break
                following = last[0] + 1
                slowest = max(slowest, outcome.seconds)
                note(outcome, last, counts, shown, options)
        _, status = os.waitpid(process, 0)
        if last is not None and outcome is None:
            following = last[0] + 1
            note(Outcome("CRASHES", f"status {status}", 0.0), last, counts, shown, options)
        elif following < options.mutants and status:
            following += 1
    for kind, count in counts.most_common():
        print(f"{count:7}  {kind}")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{sum(counts.values())} mutants, slowest {slowest:.2f} s, memory at most {largest} MB")


def note(outcome: Outcome, last: Any, counts: Any, shown: Any, options: argparse.Namespace) -> None:
    """Count an outcome, and show and keep the first failures of each kind."""
    counts[outcome.kind] += 1
    if outcome.kind.startswith(("well formed", "malformed")):
        return
    shown[outcome.kind] += 1
    number, name, data = last
    if shown[outcome.kind] <= 3:
        print(f"{outcome.kind}: mutant {number} ({name}) {outcome.detail}", flush=True)
    if options.keep and shown[outcome.kind] <= 20:
        folder = pathlib.Path(options.keep)
        folder.mkdir(exist_ok=True, parents=True)
        (folder / f"{options.seed}_{number}.marshal").write_bytes(data)


if __name__ == "__main__":
    main()
