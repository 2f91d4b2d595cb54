"""Measure how the time to decompile and prove grows with the size of a function.

    python bench/growth.py [--only NAME] [--scale 1.0]

Each shape is decompiled at half and at full size. Prints both times and their ratio divided by 2: near 1 is linear.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from typing import Callable, Dict, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from depyf.decompiler.pipeline import decompile_frame


def function(body: str) -> str:
    return "def f(a, b, c, x):\n" + body


def repeated(text: str, count: int) -> str:
    return "".join(text.replace("NUMBER", str(number)) for number in range(count))


SHAPES: Dict[str, Tuple[int, Callable[[int], str]]] = {
    "straight line": (12500, lambda n: function("".join(f"    x = a + {i}\n" for i in range(n)))),
    "sequential ifs": (2000, lambda n: function("".join(f"    if a == {i}:\n        x = {i}\n" for i in range(n)))),
    "ifs that return": (2000, lambda n: function("".join(f"    if a == {i}:\n        return {i}\n" for i in range(n)))),
    "elifs": (
        2000,
        lambda n: function(
            "    if a == -1:\n        x = -1\n" + "".join(f"    elif a == {i}:\n        x = {i}\n" for i in range(n))
        ),
    ),
    "nested ifs": (
        95,
        lambda n: function("".join(" " * (4 + i) + f"if a == {i}:\n" for i in range(n)) + " " * (4 + n) + "x = 1\n"),
    ),
    "terms of a sum": (2000, lambda n: function("    return " + " + ".join(f"a{i}" for i in range(n)) + "\n")),
    "and chain": (1000, lambda n: function("    return " + " and ".join(f"a{i}" for i in range(n)) + "\n")),
    "withs": (2000, lambda n: function(repeated("    with a(NUMBER):\n        b()\n", n))),
    "trys": (
        2000,
        lambda n: function(
            repeated("    try:\n        a(NUMBER)\n    except E:\n        b()\n    finally:\n        c()\n", n)
        ),
    ),
    "breaks": (
        3000,
        lambda n: function(
            "    for x in a:\n" + repeated("        if b(NUMBER):\n            c()\n            break\n", n)
        ),
    ),
    "returns in a with": (
        1500,
        lambda n: function("    with a:\n" + repeated("        if b(NUMBER):\n            return c()\n", n)),
    ),
    "calls": (10000, lambda n: function("".join(f"    a(b, {i})\n" for i in range(n)))),
    "list display": (20000, lambda n: function("    return [" + ", ".join(f"a[{i}]" for i in range(n)) + "]\n")),
}


def seconds(source: str) -> Tuple[float, str]:
    """Return the better time of two runs, and the outcome."""
    code = compile(source, "growth", "exec").co_consts[0]
    best, outcome = 1e9, ""
    for _ in range(2):
        gc.collect()
        begin = time.process_time()
        result = decompile_frame(code)
        best = min(best, time.process_time() - begin)
        why = "" if result.proved else f": {result.verdict}"[:150]
        outcome = f"{result.verdict.grade.name} by {result.rung}{why}"
    return best, outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only shapes whose name contains this")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the size of every shape")
    options = parser.parse_args()
    for name, (full_size, make) in SHAPES.items():
        if options.only not in name:
            continue
        size = max(2, int(full_size * options.scale))
        half, _ = seconds(make(size // 2))
        full, outcome = seconds(make(size))
        print(f"{name:18} {size:6}: {half:6.2f} s -> {full:6.2f} s, {full / half / 2:4.2f} x linear, {outcome}")


if __name__ == "__main__":
    main()
