"""Decompile every function of a source tree and count the outcomes.

    python bench/tree.py [ROOT] [--modules] [--sample N] [--seed S] [--show K] [--which TEXT] [--minimise SECONDS]

ROOT defaults to the running interpreter's standard library. Prints how many functions are proved, how many
recompile to identical bytecode, the rungs of the ladder used, how many have only refuted texts (such a text is never
shown), functions per second, the classes of failures, and the smallest function of each class, reduced further
(minimise.py) for at most SECONDS each. With --modules, decompiles whole modules and class bodies instead of
functions.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import io
import os
import re
import sys
import sysconfig
import time
import tokenize
import warnings
from types import CodeType
from typing import Dict, Iterator, List, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from minimise import smallest

from depyf.decompiler import Decompilation, decompile_frame
from depyf.decompiler.prove import Grade

SKIPPED = {"site-packages", "__pycache__", "test", "tests", "idle_test", "idlelib", "pgen2", "lib2to3"}


def modules(root: str) -> Iterator[Tuple[str, CodeType]]:
    """Yield (place, code) of every module in the tree."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    module = compile(file.read(), path, "exec", dont_inherit=True, optimize=0)
            except (SyntaxError, ValueError):
                continue
            yield os.path.relpath(path, root), module


def nested(code: CodeType, where: str, classes: bool) -> Iterator[Tuple[str, CodeType]]:
    """Yield the functions (or the class bodies) below a code object."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            path = f"{where}:{const.co_name}"
            if bool(const.co_flags & 1) is not classes and not const.co_name.startswith(("<generic", "__annotate")):
                yield path, const
            yield from nested(const, path, classes)


def codes(root: str, whole: bool) -> Iterator[Tuple[str, CodeType]]:
    """Yield the functions of the tree, or its modules and classes."""
    for where, module in modules(root):
        if whole:
            yield where, module
        yield from nested(module, where, whole)


def sample(found: List[Tuple[str, CodeType]], count: int, seed: str) -> List[Tuple[str, CodeType]]:
    """Return `count` functions, the same ones for the same seed."""
    key = lambda item: hashlib.sha256(f"{seed}:{item[0]}:{item[1].co_firstlineno}".encode()).digest()  # noqa: E731
    return sorted(found, key=key)[:count] if count else found


def failure(code: CodeType) -> Optional[str]:
    """Return the class of failure of a code object, or None if it is proved; all refuted codes are one class."""
    result = decompile_frame(code)
    return None if result.proved else coarse(result)


def coarse(result: Decompilation) -> str:
    if result.verdict.grade is Grade.REFUTED:
        return "refuted"
    return re.sub(r"'[^']*'|<[^>]*>|@\d+|\d+", "*", str(result.verdict).split("; ")[0])


def minimised(root: str, where: str, line: int, name: str, seconds: float) -> Optional[str]:
    """Return a smaller function that fails in the same way, or None."""
    with open(os.path.join(root, where.split(":")[0]), "rb") as file:
        source = file.read()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return smallest(source.decode(encoding), name, line, failure, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=sysconfig.get_paths()["stdlib"], help="folder of Python sources")
    parser.add_argument("--sample", type=int, default=0, help="number of functions to choose; 0 is all")
    parser.add_argument("--seed", default="0", help="seed of the sample")
    parser.add_argument("--show", type=int, default=25, help="classes of failures to list")
    parser.add_argument("--which", default="", help="print the verdict of failures whose message contains this")
    parser.add_argument("--minimise", type=float, default=20, help="seconds for reducing each class of failures")
    parser.add_argument("--modules", action="store_true", help="decompile whole modules and class bodies")
    options = parser.parse_args()
    chosen = sample(list(codes(options.root, options.modules)), options.sample, options.seed)
    counts: collections.Counter[str] = collections.Counter()
    reasons: Dict[str, List[Tuple[int, str, int, str]]] = {}
    identical, slowest = 0, (0.0, "")
    begin = time.process_time()
    for where, code in chosen:
        started = time.process_time()
        result = decompile_frame(code)
        slowest = max(slowest, (time.process_time() - started, where))
        counts[f"{result.verdict.grade.name} by {result.rung}"] += 1
        if result.proved:
            identical += result.code is not None and result.code.co_code == code.co_code
            continue
        why = str(result.verdict).split("; statements:")[0]
        why = re.sub(r"'[^']*'|<[^>]*>|@\d+|\d+", "*", why)[:110]
        reasons.setdefault(why, []).append((len(code.co_code), where, code.co_firstlineno, code.co_name))
        if options.which and options.which in str(result.verdict):
            print(f"--- {where} line {code.co_firstlineno}: {result.verdict}")
    seconds = time.process_time() - begin
    for why, places in sorted(reasons.items(), key=lambda item: -len(item[1]))[: options.show]:
        size, where, line, name = min(places)
        print(f"{len(places):5}  {why}\n       {where} line {line} ({size} bytes)")
        small = minimised(options.root, where, line, name, options.minimise) if options.minimise else None
        if small is not None:
            print("\n".join(f"           | {text}" for text in small.splitlines()))
    total = len(chosen)
    proved = sum(count for name, count in counts.items() if name.startswith("PROVED"))
    for name, count in counts.most_common():
        print(f"{count:7}  {name}")
    what = "modules and classes" if options.modules else "functions"
    print(
        f"{total} {what}: proved {100 * proved / total:.2f} %, identical bytecode {100 * identical / total:.2f} %, "
        f"refuted {counts['REFUTED by disassembly']}, {total / seconds:.0f} {what}/s, "
        f"slowest {slowest[0]:.2f} s {slowest[1]}"
    )


if __name__ == "__main__":
    main()
