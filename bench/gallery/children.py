"""Child processes, one for each exhibit: forked from a parent that has imported the libraries, and ended in time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Dict, Iterator, List, Sequence

from bench.gallery import trial
from bench.gallery.catalogue import Exhibit
from bench.gallery.measures import complaints, measures

Result = Dict[str, Any]
PATIENCE = 10  # times its limit that a child may wait for a processor
MEMORY = 8 << 30  # bytes of address space that one child may take beyond that of its parent


@dataclass
class Child:
    """A child that runs."""

    exhibit: Exhibit
    process: Any
    receiver: Connection
    begun: float
    plain: str = ""  # why it tries again without depyf


def run_all(exhibits: Sequence[Exhibit], folder: str, jobs: int, limit: float) -> Iterator[Result]:
    """Try each exhibit in a child of its own, so many at a time; yield results in the order in which they come.

    A child that dies, or takes longer than the limit, is followed by one that compiles the same without depyf: only
    if that one ends well is the failure depyf's.
    """
    waiting: List[Exhibit] = list(reversed(exhibits))
    running: List[Child] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_start(waiting.pop(), folder))
            wait([child.receiver for child in running], timeout=1.0)
            for child in list(running):
                result = _ended(child, limit)
                if result is None:
                    continue
                running.remove(child)
                if result.get("lost") and not child.plain:
                    running.append(_start(child.exhibit, folder, plain=result["why"]))
                else:
                    yield result
    finally:
        for child in running:
            child.process.kill()
            child.process.join()


def _start(exhibit: Exhibit, folder: str, plain: str = "") -> Child:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(exhibit, folder, bool(plain), sender))
    process.start()
    sender.close()
    return Child(exhibit, process, receiver, time.monotonic(), plain)


def _ended(child: Child, limit: float) -> Any:
    """Return the result of a child that ended or has to; None while it works."""
    seconds = time.monotonic() - child.begun
    result: Result = {}
    if child.receiver.poll():
        try:
            result = dict(child.receiver.recv())
        except EOFError:
            child.process.join()
            result = {"lost": True, "status": trial.TORCH, "why": f"the process ended with {child.process.exitcode}"}
    elif cpu_seconds(child.process.pid) > limit or seconds > PATIENCE * limit:
        result = {"lost": True, "status": trial.TORCH, "why": f"took more than {limit:.0f} s"}
    else:
        return None
    child.process.kill()
    child.process.join()
    child.receiver.close()
    if child.plain and result["status"] == trial.DEPYF:
        result["why"] = f"{child.plain}; not so without depyf"
    return {"model": child.exhibit.model, "variant": child.exhibit.variant, "seconds": round(seconds, 1), **result}


def cpu_seconds(pid: int) -> float:
    """Return the time that a process and its ended children took of the processor; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # utime, stime, cutime, cstime: proc(5)


def _work(exhibit: Exhibit, folder: str, plain: bool, sender: Connection) -> None:
    """Try the exhibit and send its result: the work of a child."""
    import torch

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache = os.path.join(folder, ".cache", exhibit.folder)
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    torch.set_num_threads(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        sys.stdout = sys.stderr = nowhere
        try:
            result = _result(exhibit, os.path.join(folder, exhibit.folder), plain)
        except Exception as error:
            lines = traceback.format_exc().splitlines()[-8:]
            result = {"status": trial.DEPYF, "why": trial.first_line(error), "traceback": lines}
    with contextlib.suppress(OSError):
        shutil.rmtree(cache, ignore_errors=True)
    sender.send(result)
    sender.close()
    os._exit(0)  # nothing of torch's that waits for threads of the parent


def _result(exhibit: Exhibit, folder: str, plain: bool) -> Result:
    if plain:
        outcome = trial.try_plain(exhibit)
        return {"status": outcome.status, "why": outcome.why}
    shutil.rmtree(folder, ignore_errors=True)
    outcome, run = trial.try_exhibit(exhibit, folder)
    if not os.path.exists(os.path.join(folder, "manifest.json")):
        return {"status": outcome.status, "why": outcome.why}
    wrong = [] if outcome.status == trial.TORCH and run.error else list(complaints(folder, run.frames))
    status = trial.DEPYF if wrong else outcome.status
    return {"status": status, "why": "; ".join([outcome.why] * bool(outcome.why) + wrong[:4]), **measures(folder)}
