"""Bounds on what is tried: CPU time, and a process of its own for code that can crash the interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from dataclasses import asdict
from typing import Any, Callable, Dict, Iterator

from bench.adversary.judgement import Judgement

CPU_SECONDS = 10.0  # for one function; then it counts as a hang


class Hang(BaseException):
    """The CPU time for one function is over."""


def on_alarm(number: int, frame: Any) -> None:
    """Leave a function that takes too long."""
    raise Hang


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Hang when the body takes more than some seconds of CPU."""
    signal.signal(signal.SIGPROF, on_alarm)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def where(error: BaseException) -> str:
    """Return the kind of an exception and the place where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    return f"{type(error).__name__} in {place}: {str(error)[:100]}"


def in_child(judge: Callable[[], Judgement], otherwise: Callable[[int], Judgement]) -> Judgement:
    """Return a judgement that a child process makes; `otherwise(status)` if it dies of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _report(judge, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    if status or not said:
        return otherwise(status)
    saved: Dict[str, Any] = json.loads(said)
    return Judgement(**{**saved, **{name: tuple(saved[name]) for name in ("assumptions", "kinds", "bugs")}})


def _report(judge: Callable[[], Judgement], writing: int) -> None:
    """Write the judgement, in the child, and end it."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (2, 3))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.write(writing, json.dumps(asdict(judge())).encode())
        os._exit(0)
    finally:
        os._exit(77)
