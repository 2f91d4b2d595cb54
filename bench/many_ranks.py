"""Measure merging the folders of a job of many ranks, made from a few real ones, three of which did something else.

    python bench/many_ranks.py [--ranks 1024] [--functions 22] [--folder FOLDER] [--report]

Four processes run a program as ranks of one job: three have another graph, a graph break or a second version of their
own. Their folders are copied for the other ranks (files are hard links, manifests their own), then
`python -m depyf finish` merges them (with `--report`, `depyf report` makes the page), in a process of its own. Prints
how long the end of the last rank's program waits before that, seconds, memory, and the ranks that are named as
different.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = """\
import os, sys, torch, depyf
kind = sys.argv[2]
class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(width, width), torch.nn.LayerNorm(width)
    def forward(self, x):
        y = self.norm(torch.nn.functional.gelu(self.linear(x)))
        return x + y * 2
"""
FUNCTION = """
def step_{n}(x, layer):
    y = layer(x).tanh() + {n}
    if kind == "graph" and {n} == 3:
        y = y * 7
    if kind == "break" and {n} == 5:
        print("a break")
    return (y.sin() * y.cos()).sum()
"""
TAIL = """
if __name__ == "__main__":
    layers = [Layer(4) for _ in range(COUNT)]
    with depyf.prepare_debug(sys.argv[1]):
        for n in range(COUNT):
            torch.compile(globals()[f"step_{n}"], backend="aot_eager")(torch.ones(2, 4), layers[n])
        if kind == "version":
            torch.compile(step_7, backend="aot_eager", dynamic=False)(torch.ones(3, 4), layers[7])
"""
KINDS = ("plain", "graph", "break", "version")


def main() -> None:
    """Make the folders, merge them, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--functions", type=int, default=22, help="of the program: each leaves four files")
    parser.add_argument("--folder", help="where the folders of ranks are made, and left; else a temporary one")
    parser.add_argument("--report", action="store_true", help="make the page, too")
    options = parser.parse_args()
    top = options.folder or tempfile.mkdtemp(prefix="many_ranks_")
    try:
        odd = make_ranks(top, options.ranks, options.functions)
        print(f"{options.ranks} ranks in {top}; others than the rest: {', '.join(map(str, sorted(odd)))}")
        measure_exit(top)
        output = measure("finish", top)
        if options.report:
            measure("report", top)
        named = sorted({int(word.rstrip(",:")) for word in output.split() if word.rstrip(",:").isdigit()} & set(odd))
        print("named:", named, "of", sorted(odd))
        print(output)
    finally:
        if options.folder is None:
            shutil.rmtree(top)


def make_ranks(top: str, count: int, functions: int) -> Dict[int, str]:
    """Write the folders of the ranks; return those that are other than the rest, with what they did."""
    work = tempfile.mkdtemp(prefix="real_ranks_")
    odd = {count // 7: "graph", count // 3: "break", count - 5: "version"}
    sources = [run(work, number, kind, count, functions) for number, kind in enumerate(KINDS)]
    identity = json.loads(_read(os.path.join(sources[0], "timings.json")))
    for rank in range(count):
        source = sources[KINDS.index(odd.get(rank, "plain"))]
        copy_rank(source, os.path.join(top, f"rank_{rank}"), rank, identity)
    shutil.rmtree(work)
    files = len(os.listdir(os.path.join(top, "rank_0")))
    size = os.stat(os.path.join(top, "rank_0", "manifest.json")).st_size
    print(f"{files} files in each, a manifest of {size} bytes")
    return odd


def run(work: str, number: int, kind: str, ranks: int, functions: int) -> str:
    """Run the program as one rank; return its folder."""
    program = os.path.join(work, "program.py")
    body = "".join(FUNCTION.format(n=n) for n in range(functions))
    with open(program, "w", encoding="utf-8") as stream:
        stream.write(HEAD + body + TAIL.replace("COUNT", str(functions)))
    folder = os.path.join(work, kind)
    environment = {**os.environ, "PYTHONPATH": ROOT, "RANK": str(number), "WORLD_SIZE": str(ranks)}
    subprocess.run(
        [sys.executable, program, folder, kind], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=2
    )
    return os.path.join(folder, f"rank_{number}")


def copy_rank(source: str, target: str, rank: int, identity: Dict[str, object]) -> None:
    """Copy the folder of a rank for another one, as a process of the same run."""
    os.makedirs(target)
    for name in os.listdir(source):
        if name not in ("manifest.json", "timings.json") and os.path.isfile(os.path.join(source, name)):
            os.link(os.path.join(source, name), os.path.join(target, name))
    record = json.loads(_read(os.path.join(source, "manifest.json")))
    record["rank"] = rank
    _write(os.path.join(target, "manifest.json"), json.dumps(record, indent=1))
    own = {**json.loads(_read(os.path.join(source, "timings.json"))), "run": identity["run"], "process": f"p{rank}"}
    _write(os.path.join(target, "timings.json"), json.dumps(own, indent=1))


def measure_exit(top: str) -> None:
    """Try to merge as the last rank does when its program ends, which gives up where it takes long; print seconds."""
    sys.path.insert(0, ROOT)
    from depyf.torch_hooks.disk.merging import merge_at_exit
    from depyf.torch_hooks.disk.process_records import Deadline, TooLong
    from depyf.torch_hooks.session.closing import LONGEST_MERGE

    identity = json.loads(_read(os.path.join(top, "rank_0", "timings.json")))
    before = time.monotonic()
    try:
        merge_at_exit(top, identity["run"], identity["started"], Deadline.after(LONGEST_MERGE))
        what = "merged"
    except TooLong:
        what = "left to `depyf report`"
    print(f"the end of a program waits {time.monotonic() - before:.1f} s: {what}")


def measure(command: str, top: str) -> str:
    """Run a command of depyf on the folder; print seconds and memory, and return what it printed."""
    before = time.monotonic()
    arguments: List[str] = [sys.executable, "-m", "depyf", command, top]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    seconds = time.monotonic() - before
    print(
        f"{command}: status {done.returncode}, {seconds:.1f} s, memory at most {memory:.0f} MB (making them included)"
    )
    return done.stdout


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
