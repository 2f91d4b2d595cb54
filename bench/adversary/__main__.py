"""The command line of the adversary; see the docstring of the package."""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import sys
import time
from typing import Dict, List, Set

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))

from bench.adversary.minimised import smallest_failing
from bench.adversary.random_functions import random_function
from bench.adversary.scoreboard import Scoreboard, judgement_of
from bench.adversary.workers import Pool, Task, work

LONGEST = 40  # lines of a function that is small enough


def main() -> int:
    """Judge functions and print the scoreboard; return 1 if there are failures."""
    options = parsed()
    if options.worker:
        work(Task(options.seed, options.schedules, options.mutants, options.each))
        return 0
    if options.show is not None:
        print(random_function(options.seed, options.show).source)
        return 0
    board, done = Scoreboard(), set()
    saved = None
    if options.out:
        saved = saved_file(options)
        done = read(saved, board)
    numbers = [n for n in range(options.start, options.start + options.functions) if n not in done]
    arguments = ["--worker", "--seed", str(options.seed), "--schedules", str(options.schedules)]
    arguments += ["--mutants", options.mutants, "--each", str(options.each)] if options.mutants else []
    begin = shown_at = time.monotonic()
    file = saved.open("a", encoding="utf-8") if saved else None
    for found in Pool(options.jobs, arguments).run(numbers):
        board.add(judgement_of(found))
        if file:
            file.write(json.dumps(found) + "\n")
        if time.monotonic() - shown_at > 30:
            shown_at = time.monotonic()
            print(board.lines()[-1], f"({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True)
    if file:
        file.close()
    print("\n".join(board.lines()))
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{time.monotonic() - begin:.0f} s, memory at most {largest} MB, Python {sys.version.split()[0]}")
    if options.minimise and not options.mutants:
        show_smallest(options, board)
    return 1 if board.failures else 0


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m bench.adversary", description="Throw random functions at depyf.")
    parser.add_argument("--functions", type=int, default=1000, help="functions to make")
    parser.add_argument("--seed", type=int, default=1, help="seed of the functions")
    parser.add_argument("--start", type=int, default=0, help="number of the first function")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--schedules", type=int, default=16, help="schedules of each function")
    parser.add_argument("--minimise", type=float, nargs="?", const=30.0, default=0.0, help="seconds for each class")
    parser.add_argument("--classes", type=int, default=20, help="classes to minimise, the most frequent first")
    parser.add_argument("--per-class", type=int, default=1, help="functions of each class to minimise")
    parser.add_argument("--which", default="", help="minimise only classes that contain this")
    parser.add_argument("--out", default="", help="folder of the judgements; a run that was cut off is continued")
    parser.add_argument("--mutants", choices=["source", "bytecode", "tables"], default="", help="judge mutants instead")
    parser.add_argument("--each", type=int, default=10, help="mutants of each function")
    parser.add_argument("--show", type=int, help="print the function of this number")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def saved_file(options: argparse.Namespace) -> pathlib.Path:
    """Return the file of the judgements of this seed and Python."""
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    version = f"{sys.version_info[0]}{sys.version_info[1]}"
    return folder / f"{options.mutants or 'functions'}_{version}_seed{options.seed}.jsonl"


def read(saved: pathlib.Path, board: Scoreboard) -> Set[int]:
    """Count the judgements of an earlier run; return the numbers of their functions."""
    done: Set[int] = set()
    if saved.exists():
        for line in saved.read_text(encoding="utf-8").splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was cut off
            board.add(judgement_of(found))
            done.add(found["number"])
    return done


def show_smallest(options: argparse.Namespace, board: Scoreboard) -> None:
    """Print the smallest functions found of each class of failures and of what is not proved."""
    classes: Dict[str, List[int]] = {}
    for group in (board.failures, board.unproved, board.assumed if options.which else {}):
        for name, found in sorted(group.items(), key=lambda item: -len(item[1])):
            classes[name] = [one.number for one in sorted(found, key=lambda one: one.instructions)]
    chosen = [name for name in classes if options.which in name][: options.classes]
    for name in chosen:
        shown: Set[str] = set()
        for number in classes[name][: options.per_class + 2]:
            source = random_function(options.seed, number).source
            small = smallest_failing(number, source, name, options.minimise, options.schedules)
            if small is None or small[0] in shown or (len(small[0].splitlines()) > LONGEST and not shown):
                continue
            print(f"\n--- function {number}: {small[1]}", flush=True)
            shown.add(small[0])
            if len(shown) == options.per_class:
                break


if __name__ == "__main__":
    sys.exit(main())
