"""The command line; see the docstring of the package."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, NamedTuple

import bench.torch_peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VARIANTS = "forward,forward-breaks,training,training-breaks"
FAMILIES = "torch,loops"
Lines = List[Dict[str, Any]]


class Peer(NamedTuple):
    """A depyf: the interpreter that has it, and whether it is the one of this checkout."""

    name: str
    python: str
    ours: bool

    def environment(self, **more: str) -> Dict[str, str]:
        """Return the environment of a child; the checkout is on its path, first, only for our own depyf."""
        given = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
        others = [one for one in given if os.path.realpath(one) != os.path.realpath(ROOT)]
        path = [str(ROOT)] * self.ours + [str(HERE), *others]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", **more}


class Score(NamedTuple):
    """What one depyf reached."""

    version: str
    right: int
    usable: int  # what torch does right by itself
    replaced: int
    frames: int

    def cells(self) -> str:
        """Return the cells of the table."""
        return f"{self.version} | {_share(self.right, self.usable)} | {_share(self.replaced, self.frames)}"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.1f} %)" if whole else "none"


def complain(text: str) -> None:
    """Print to stderr: the table alone goes to stdout."""
    print(text, file=sys.stderr, flush=True)


def lines_of(text: str) -> Iterator[Dict[str, Any]]:
    """Yield the lines of JSON in a text; the last may be cut off."""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


# -- the models of the gallery


def models(peer: Peer, options: argparse.Namespace) -> Score:
    """Return the score of a depyf on the models."""
    with tempfile.TemporaryDirectory() as folder:
        command = [peer.python, str(HERE / "model_trials.py"), str(ROOT), folder]
        command += [options.variants, options.only, str(options.jobs)]
        done = subprocess.run(command, env=peer.environment(), stdout=subprocess.PIPE, text=True)
    lines = list(lines_of(done.stdout))
    if done.returncode or not lines:
        raise SystemExit(f"{peer.python}: the trials stopped with exit status {done.returncode}")
    version, trials = lines[0]["version"], [line for line in lines[1:] if not line.get("fails_by_itself")]
    for one in trials:
        if not one["right"]:
            complain(f"lost with {version}: {one['name']}: {one['why']}")
    right, replaced, frames = (sum(one.get(key, 0) for one in trials) for key in ("right", "replaced", "frames"))
    return Score(version, right, len(trials), replaced, frames)


# -- PyTorch's tests


def tested(peer: Peer, switch: str, module: str, folder: str) -> Lines:
    """Run a test module with the depyf "on" or "off"; return the lines that the plugin wrote."""
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "lines")
        more = {"PEERS_DEPYF": switch, "PEERS_DUMP": os.path.join(place, "dump"), "PEERS_OUT": out}
        command = [peer.python, "-m", "pytest", "-q", "--noconftest", "--timeout", "600", "-p", "suite_plugin"]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", f"{module}.py"]
        with open(os.path.join(place, "log"), "w+") as log:
            subprocess.run(command, cwd=folder, env=peer.environment(**more), stdout=log, stderr=log)
            log.seek(0)
            last = log.read().splitlines()[-1:]
        lines = list(lines_of(pathlib.Path(out).read_text())) if os.path.exists(out) else []
    complain(f"{module}, {peer.name if switch == 'on' else 'without depyf'}: {' '.join(last)}")
    if not any("frames" in line for line in lines):
        complain(f"{module}: the process died after {len(lines)} tests; the rest counts as lost")
    return lines


def passed(lines: Lines) -> List[str]:
    """Return the tests that passed, setup and teardown included; a test with subtests has a line for each."""
    failed = {line["test"] for line in lines if line.get("outcome") == "failed"}
    ended = dict.fromkeys(line["test"] for line in lines if line.get("outcome") == "passed")
    return [name for name in ended if name not in failed]


def score_of(lines: Lines, wanted: List[str]) -> Score:
    """Return the score of a depyf on the tests that pass without one."""
    version = next((line["version"] for line in lines if "version" in line), "unknown")
    kept = {*wanted} & {*passed(lines)}
    for name in sorted({*wanted} - kept):
        complain(f"lost with {version}: {name}")
    replaced, frames = (sum(line.get(key, 0) for line in lines) for key in ("replaced", "frames"))
    return Score(version, len(kept), len(wanted), replaced, frames)


def tests(peers: List[Peer], options: argparse.Namespace) -> Dict[str, Score]:
    """Return the scores of all depyfs on the test modules."""
    with ThreadPoolExecutor(options.jobs) as pool:
        started: Dict[str, List[Future[Lines]]] = {}
        for name, peer, switch in [("", peers[0], "off"), *((peer.name, peer, "on") for peer in peers)]:
            runs = [pool.submit(tested, peer, switch, module, options.tests) for module in options.modules]
            started[name] = runs
        found = {name: [line for run in runs for line in run.result()] for name, runs in started.items()}
    wanted = passed(found.pop(""))
    return {name: score_of(lines, wanted) for name, lines in found.items()}


def parsed() -> argparse.Namespace:
    """Return the options."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("bench.torch_peers", None, bench.torch_peers.__doc__, formatter_class=form)
    parser.add_argument("--old", help="an interpreter with depyf 0.20 and the same torch")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--variants", default=VARIANTS, help=f"of the gallery (default: {VARIANTS})")
    parser.add_argument("--only", default=FAMILIES, help=f"models of the gallery (default: {FAMILIES})")
    parser.add_argument("--tests", help="the folder test/dynamo of a checkout of PyTorch")
    parser.add_argument("modules", nargs="*", help="modules of that folder, such as test_functions")
    options = parser.parse_args()
    if bool(options.tests) != bool(options.modules):
        parser.error("--tests and the names of test modules belong together")
    return options


def main() -> None:
    """Compare and print."""
    options = parsed()
    import torch

    peers = [Peer("this project", sys.executable, True)]
    peers += [Peer("depyf", options.old, False)] if options.old else []
    scores = tests(peers, options) if options.tests else {peer.name: models(peer, options) for peer in peers}
    what = " ".join(options.modules) if options.tests else f"models of {options.only} ({options.variants})"
    print(f"{what}; CPython {platform.python_version()}, torch {torch.__version__}, {datetime.date.today()}\n")
    unit = "tests kept" if options.tests else "models right"
    print(f"| tool | version | {unit} | frames replaced |\n|---|---|---|---|")
    for name, score in scores.items():
        print(f"| {name} | {score.cells()} |")


if __name__ == "__main__":
    main()
