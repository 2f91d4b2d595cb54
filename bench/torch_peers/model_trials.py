"""Compile models of the gallery under the depyf of this interpreter: the work of a child of the command.

    model_trials.py ROOT FOLDER VARIANTS ONLY JOBS

Prints one line of JSON for each trial. Each is a process of its own, forked from one that has imported torch: what a
trial leaves behind, or dies of, is its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import sys
import time
import warnings
from typing import Any, Dict, Tuple

SECONDS = 200  # of the processor, for one trial


def main(root: str, folder: str, variants: str, only: str, jobs: str) -> None:
    """Try each model, so many at a time, and print what came of each."""
    if root not in sys.path:
        sys.path.append(root)  # last: `import depyf` has to find the depyf of this interpreter
    import torch

    import depyf
    from bench.gallery import catalogue

    torch.set_num_threads(1)
    print(json.dumps({"version": depyf.__version__}), flush=True)
    running: Dict[int, Tuple[str, str]] = {}
    for exhibit in catalogue.exhibits(only.split(","), variants.split(",")):
        if len(running) == int(jobs):
            report(running)
        place = os.path.join(folder, exhibit.folder)
        os.makedirs(place)
        child = os.fork()
        if not child:
            work(exhibit, place)
        running[child] = (f"{exhibit.model} {exhibit.variant}", place)
    while running:
        report(running)


def report(running: Dict[int, Tuple[str, str]]) -> None:
    """Wait for a child and print its result."""
    child, status = os.wait()
    name, place = running.pop(child)
    result: Dict[str, Any] = {"right": False, "why": f"the process ended with wait status {status}"}
    if os.path.exists(place + ".json"):
        with open(place + ".json") as file:
            result = json.load(file)
    print(json.dumps({"name": name, **result}), flush=True)
    shutil.rmtree(place, ignore_errors=True)


def work(exhibit: Any, place: str) -> None:
    """Try one model, write the result beside its folder, and end the process."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        result = tried(exhibit, place)
    except Exception as error:
        result = {"right": False, "why": f"{type(error).__name__}: {error}"[:300]}
    with open(place + ".json", "w") as file:
        json.dump(result, file)
    os._exit(0)


def tried(exhibit: Any, place: str) -> Dict[str, Any]:
    """Return whether the model's results are right under depyf, and how many of its frames were replaced."""
    from frame_counter import FrameCounter

    from bench.gallery.catalogue import VARIANTS
    from bench.gallery.trial import compiler, differing, run

    variant = VARIANTS[exhibit.variant]
    eager = run(exhibit, variant, lambda model: model)
    counter = FrameCounter(place)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        counter.open(with_depyf=True)
        found = run(exhibit, variant, compiler(variant))
        counter.close()
    why = found.error or differing(eager.tensors, found.tensors, variant)
    if not why:
        return {"right": True, **counter.counts()}
    plain = run(exhibit, variant, compiler(variant))
    fails_by_itself = bool(eager.error or plain.error or differing(eager.tensors, plain.tensors, variant))
    return {"right": False, "why": why, "fails_by_itself": fails_by_itself, **counter.counts()}


if __name__ == "__main__":
    main(*sys.argv[1:])
