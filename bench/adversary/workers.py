"""Processes that judge many functions each. The parent replaces one that hangs or dies."""

from __future__ import annotations

import json
import os
import resource
import selectors
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any, Dict, Generator, Iterator, List, Optional, Sequence

from bench.adversary.judgement import Judgement, judged
from bench.adversary.limits import CPU_SECONDS, Hang, limited, where
from bench.adversary.mutants import judged_mutants
from bench.adversary.random_functions import random_function
from bench.adversary.runs import codes_in, subject_of

WALL_SECONDS = 120.0  # without a word from a worker; then it is killed
MEMORY = 1 << 30
BATCH = 16


@dataclass(frozen=True)
class Task:
    """What a worker is to do with each number."""

    seed: int
    count: int  # schedules of each function
    mutants: str = ""  # kind of mutants: "", "source", "bytecode", "tables"
    each: int = 10  # mutants of each function


def work(task: Task) -> None:
    """Judge the functions whose numbers come in, one line each; print one line for the begin and each judgement."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        for number in json.loads(line):
            out.write(f"{json.dumps(number)}\n")
            out.flush()
            for judgement in judgements(task, number):
                out.write(json.dumps(asdict(judgement)) + "\n")
            out.flush()
        out.write("null\n")
        out.flush()


def judgements(task: Task, number: int) -> Iterator[Judgement]:
    """Yield the judgement of a function, or those of its mutants."""
    made = random_function(task.seed, number)
    if task.mutants:
        yield from judged_mutants(task.mutants, made, task.each, task.count)
        return
    try:
        with limited(CPU_SECONDS):
            yield judged(number, made.source, task.count)
    except Hang:
        yield Judgement(number, "HANG", reason=f"over {CPU_SECONDS} s of CPU", instructions=size_of(made.source))
    except Exception as error:
        yield Judgement(number, "CRASH", reason=where(error))


def size_of(source: str) -> int:
    """Return the number of instructions of `f`."""
    return sum(len(code.co_code) // 2 for code in codes_in(subject_of(source).code))


class Worker:
    """The parent's side of a process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.process = self.started()
        self.buffer = b""
        self.batch: List[int] = []  # numbers without a judgement yet
        self.number: Optional[int] = None  # the one at work
        self.since = time.monotonic()

    def started(self) -> subprocess.Popen[bytes]:
        """Start the process."""
        command = [sys.executable, "-m", "bench.adversary", *self.arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def give(self, batch: List[int]) -> None:
        """Hand over numbers."""
        self.batch, self.number, self.since = batch, None, time.monotonic()
        assert self.process.stdin is not None
        self.process.stdin.write((json.dumps(batch) + "\n").encode())
        self.process.stdin.flush()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


class Pool:
    """Workers that judge the functions of some numbers."""

    def __init__(self, jobs: int, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.jobs = jobs

    def run(self, numbers: List[int]) -> Iterator[Dict[str, Any]]:
        """Yield the judgements, as they come."""
        waiting = [numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH)][::-1]
        selector = selectors.DefaultSelector()
        workers = [Worker(self.arguments) for _ in range(min(self.jobs, len(waiting)))]
        busy = 0
        try:
            for worker in workers:
                worker.give(waiting.pop())
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
                busy += 1
            while busy:
                ready = [key.data for key, _ in selector.select(timeout=5)]
                for worker in workers:
                    is_over = False
                    if worker in ready:
                        is_over = yield from self.read(worker, waiting)
                    elif worker.batch and time.monotonic() - worker.since > WALL_SECONDS:
                        yield self.lost(worker, "HANG", f"no answer for {WALL_SECONDS:.0f} s")
                        is_over = True
                    if is_over:
                        selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
                        worker.stop()
                        rest = worker.batch
                        if not rest and waiting:
                            rest = waiting.pop()
                        if rest:
                            worker.process, worker.buffer = worker.started(), b""
                            worker.give(rest)
                            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
                        else:
                            busy -= 1
        finally:
            for worker in workers:
                worker.stop()

    def read(self, worker: Worker, waiting: List[List[int]]) -> Generator[Dict[str, Any], None, bool]:
        """Yield what a worker has printed; return whether it is over."""
        assert worker.process.stdout is not None
        data = os.read(worker.process.stdout.fileno(), 1 << 20)
        if not data:
            if worker.batch:
                yield self.lost(worker, "CRASH", f"the process ended with {worker.process.wait()}")
            return True
        worker.since = time.monotonic()
        worker.buffer += data
        *lines, worker.buffer = worker.buffer.split(b"\n")
        for line in lines:
            found = json.loads(line)
            if found is None:
                worker.batch, worker.number = [], None
                if not waiting:
                    return True
                worker.give(waiting.pop())
            elif isinstance(found, int):
                self.begun(worker, found)
            else:
                yield found
        return False

    def begun(self, worker: Worker, number: int) -> None:
        """Note that a worker began with a number: all before it are done."""
        worker.number = number
        worker.batch = worker.batch[worker.batch.index(number) :]

    def lost(self, worker: Worker, grade: str, reason: str) -> Dict[str, Any]:
        """Return the judgement of a function at which a worker was lost."""
        number = worker.number if worker.number is not None else worker.batch[0]
        worker.batch = worker.batch[worker.batch.index(number) + 1 :]
        worker.number = None
        return asdict(Judgement(number, grade, reason=reason))
