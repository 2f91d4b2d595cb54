"""Measure merging the folders of a job of many ranks, made from a few real ones, three of which did something else.

    python bench/many_ranks.py [--ranks 1024] [--functions 29] [--lines 8] [--folder FOLDER] [--report]

Four processes run a program as ranks of one job: three have another graph, a graph break or a second version of their
own. Their folders are copied for the other ranks (files are hard links, manifests their own), rank 0 runs as the last
one of the job, then `python -m depyf finish` merges them (with `--report`, `depyf report` makes the page), each in a
process of its own. Prints how long rank 0 takes from the end of its own work to the end of its process, beside what it
takes alone; seconds, memory, and the ranks that are named as different.
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
import os, sys, time, torch, depyf
torch.set_grad_enabled(False)
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
MORE
    return (y.sin() * y.cos()).sum()
"""
# A source is in the manifest: comments bring it to the size that one of a real model has.
LINE = "    # block {number}: " + "scale, normalise, squash; " * 4 + "\n"
LINE = LINE * 4 + "    y = y * {number} + layer.norm(y).sigmoid()\n"
TAIL = """
if __name__ == "__main__":
    layers = [Layer(4) for _ in range(COUNT)]
    with depyf.prepare_debug(sys.argv[1]):
        for n in range(COUNT):
            torch.compile(globals()[f"step_{n}"], backend="eager")(torch.ones(2, 4), layers[n])
        if kind == "version":
            torch.compile(step_7, backend="eager", dynamic=False)(torch.ones(3, 4), layers[7])
        print("worked until", time.time(), flush=True)
"""
KINDS = ("plain", "graph", "break", "version")


def main() -> None:
    """Make the folders, merge them, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--functions", type=int, default=29, help="of the program: each leaves three files")
    parser.add_argument("--lines", type=int, default=8, help="more of each function, for a larger manifest")
    parser.add_argument("--folder", help="where the folders of ranks are made, and left; else a temporary one")
    parser.add_argument("--report", action="store_true", help="make the page, too")
    options = parser.parse_args()
    top = options.folder or tempfile.mkdtemp(prefix="many_ranks_")
    try:
        body = "".join(function(number, options.lines) for number in range(options.functions))
        program = HEAD + body + TAIL.replace("COUNT", str(options.functions))
        odd = make_ranks(top, options.ranks, program)
        print(f"{options.ranks} ranks in {top}; others than the rest: {', '.join(map(str, sorted(odd)))}")
        output = measure("finish", top)
        if options.report:
            measure("report", top)
        named = sorted({int(word.rstrip(",:")) for word in output.split() if word.rstrip(",:").isdigit()} & set(odd))
        print("named:", named, "of", sorted(odd))
        print(output)
    finally:
        if options.folder is None:
            shutil.rmtree(top)


def function(number: int, lines: int) -> str:
    """Return the text of one function of the program."""
    more = "".join(LINE.format(number=line + 2) for line in range(lines))
    return FUNCTION.format(n=number).replace("MORE\n", more)


def make_ranks(top: str, count: int, program: str) -> Dict[int, str]:
    """Write the folders of the ranks, rank 0 last; return those that are other than the rest, with what they did."""
    work = tempfile.mkdtemp(prefix="real_ranks_")
    odd = {count // 7: "graph", count // 3: "break", count - 5: "version"}
    path = os.path.join(work, "program.py")
    _write(path, program)
    alone = [run(path, os.path.join(work, kind), number, kind, count) for number, kind in enumerate(KINDS)]
    for rank in range(1, count):
        number = KINDS.index(odd.get(rank, "plain"))
        copy_rank(os.path.join(work, KINDS[number], f"rank_{number}"), os.path.join(top, f"rank_{rank}"), rank)
    wait = run(path, top, 0, "plain", count)
    print(f"rank 0 ends {wait:.1f} s after its work with {count - 1} ranks beside it, {alone[0]:.1f} s alone")
    shutil.rmtree(work)
    files = len(os.listdir(os.path.join(top, "rank_0")))
    size = os.stat(os.path.join(top, "rank_0", "manifest.json")).st_size
    print(f"{files} files in each, a manifest of {size} bytes")
    return odd


def run(program: str, folder: str, rank: int, kind: str, ranks: int) -> float:
    """Run the program as one rank of a job on several machines; return seconds from its last work to its end."""
    job = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": 8, "TORCHELASTIC_RUN_ID": "many_ranks"}
    environment = {**os.environ, "PYTHONPATH": ROOT, **{name: str(value) for name, value in job.items()}}
    command = [sys.executable, program, folder, kind]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
    return time.time() - float(done.stdout.split()[-1])


def copy_rank(source: str, target: str, rank: int) -> None:
    """Copy the folder of a rank for another one."""
    os.makedirs(target)
    for name in os.listdir(source):
        if name not in ("manifest.json", "timings.json") and os.path.isfile(os.path.join(source, name)):
            os.link(os.path.join(source, name), os.path.join(target, name))
    record = json.loads(_read(os.path.join(source, "manifest.json")))
    record["rank"] = rank
    _write(os.path.join(target, "manifest.json"), json.dumps(record, indent=1))
    own = {**json.loads(_read(os.path.join(source, "timings.json"))), "process": f"p{rank}"}
    _write(os.path.join(target, "timings.json"), json.dumps(own, indent=1))


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
