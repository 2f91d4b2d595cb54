"""Measure a context for each test, as an autouse fixture makes one: does leaving it take longer the more went before?

    python bench/contexts.py [--tests 200] [--frames 3] [--one-folder] [--leave-out]

Each test compiles `--frames` functions of its own, backend "eager", in a context of its own. Prints the CPU time that
entering and leaving take, for the tests around the tenth and for the last ones, and the ratio (medians of nine).
`--one-folder` gives all contexts the same folder, which then holds the files of all; `--leave-out` passes
`include_earlier=False`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any, Dict, List

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def functions(folder: str, number: int, count: int) -> List[Any]:
    """Return that many new functions, from a file of their own."""
    path = os.path.join(folder, f"functions_{number}.py")
    text = "".join(
        f"def f{number}_{i}(x, y):\n    z = x * {i} + y\n    return z.relu() - {number}\n\n" for i in range(count)
    )
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    space: Dict[str, Any] = {"__name__": f"functions_{number}", "__file__": path}
    exec(compile(text, path, "exec"), space)
    return [space[f"f{number}_{i}"] for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=int, default=200, help="contexts that are entered")
    parser.add_argument("--frames", type=int, default=3, help="functions that each compiles")
    parser.add_argument("--one-folder", action="store_true", help="one folder for all of them")
    parser.add_argument("--leave-out", action="store_true", help="pass include_earlier=False")
    options = parser.parse_args()
    import torch

    import depyf

    torch.set_num_threads(1)
    top, argument = tempfile.mkdtemp(), torch.ones(3)
    arguments = {"include_earlier": False} if options.leave_out else {}
    stderr, sys.stderr = sys.stderr, None  # type: ignore[assignment]
    entering, leaving = [], []
    for number in range(options.tests):
        made = functions(top, number, options.frames)
        context = depyf.prepare_debug(os.path.join(top, "all" if options.one_folder else str(number)), **arguments)
        begin = time.process_time()
        context.__enter__()
        entering.append(time.process_time() - begin)
        for function in made:
            torch.compile(function, backend="eager")(argument, argument)
        begin = time.process_time()
        context.__exit__(None, None, None)
        leaving.append(time.process_time() - begin)
        assert context.record is not None and len(context.record.frames) >= options.frames
    sys.stderr = stderr
    shutil.rmtree(top, ignore_errors=True)
    for what, seconds in (("entering", entering), ("leaving", leaving)):
        early, late = statistics.median(seconds[5:14]), statistics.median(seconds[-9:])
        print(f"{what}: tenth {early * 1000:.1f} ms, last {late * 1000:.1f} ms, {late / early:.2f} times")


if __name__ == "__main__":
    main()
