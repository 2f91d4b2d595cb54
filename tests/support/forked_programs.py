"""Programs that start with torch imported: forked from a process that has done so, one for each worker of pytest.

Importing torch, Dynamo and Inductor takes longer than all else that a small program does. Each program is a process of
its own, with its own terminal or pipes, arguments and environment, and the end of a plain Python. What a start by
`python` alone changes has tests that start it so (test_asked_breakpoints, test_debug_pausing).

Run as a script this is the process that forks. It reads requests from a socket, with the three standard streams of the
program as descriptors; it answers with the program's pid, and later with its status.
"""

from __future__ import annotations

import array
import atexit
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import types
from typing import Any, Callable

IMPORTED = (
    "torch",
    "torch._dynamo",
    "torch._dynamo.repro.after_dynamo",
    "torch._inductor.compile_fx",
    "networkx",
    "depyf.torch_hooks.entry_points.prepare_debug",
    "depyf.torch_hooks.entry_points.debug",
    "depyf.page.page_text",
)
LENGTH = struct.Struct("=i")  # of a request, in front of it
ANSWER = struct.Struct("=ii")  # pid, status
STARTED = 1 << 20  # in the place of a status


class ForkedProgram:
    """A running program: what `subprocess.Popen` has of `pid`, `poll`, `wait` and `kill`."""

    def __init__(self, arguments: list[str], streams: tuple[int, int, int], environment: dict[str, str]) -> None:
        self.returncode: int | None = None
        self.pid = _forker().begin({"arguments": arguments, "environment": environment, "folder": os.getcwd()}, streams)

    def poll(self) -> int | None:
        """Return the status of a program that has ended, None of one that runs."""
        return self._status_within(0)

    def wait(self, timeout: float) -> int:
        """Wait for the end of the program, and return its status."""
        status = self._status_within(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("a forked program", timeout)
        return status

    def kill(self) -> None:
        try:
            if self.poll() is None:
                os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, and its status is on the way
            pass

    def _status_within(self, seconds: float) -> int | None:
        if self.returncode is None:
            self.returncode = _forker().status_of(self.pid, seconds)
        return self.returncode


class _Forker:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # read when Inductor is imported
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=[theirs.fileno()],
            )
        self._statuses: dict[int, int] = {}
        atexit.register(self._end)

    def begin(self, request: dict[str, Any], streams: tuple[int, int, int]) -> int:
        text = json.dumps(request).encode()
        descriptors = array.array("i", streams)
        self._socket.sendmsg([LENGTH.pack(len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors.tobytes())])
        self._socket.sendall(text)
        while True:
            pid, status = self._read()
            if status == STARTED:
                return pid
            self._statuses[pid] = status

    def status_of(self, pid: int, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while pid not in self._statuses:
            if not select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return None
            ended, status = self._read()
            self._statuses[ended] = status
        return self._statuses[pid]

    def _read(self) -> tuple[int, int]:
        answer = self._socket.recv(ANSWER.size, socket.MSG_WAITALL)
        assert answer, "the process that forks programs has ended"
        return ANSWER.unpack(answer)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_forkers: list[_Forker] = []


def _forker() -> _Forker:
    if not _forkers:
        _forkers.append(_Forker())
    return _forkers[0]


def serve(requests: socket.socket) -> Callable[[], None] | None:
    """Fork a program for each request; return what to run in a fork, None when no more are asked for."""
    waker, woken = os.pipe()
    for end in (waker, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([requests, waker], [], [])
        if waker in ready:
            os.read(waker, 4096)
            report_ended(requests)
        if requests not in ready:
            continue
        length, control, _, _ = requests.recvmsg(LENGTH.size, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        if not length:
            return None
        text = requests.recv(*LENGTH.unpack(length), socket.MSG_WAITALL)
        streams = array.array("i", control[0][2])
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            os.close(waker)
            os.close(woken)
            return prepare(json.loads(text), streams.tolist())
        for descriptor in streams:
            os.close(descriptor)
        requests.sendall(ANSWER.pack(pid, STARTED))


def report_ended(requests: socket.socket) -> None:
    """Send the statuses of the programs that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        requests.sendall(ANSWER.pack(pid, code))


def prepare(request: dict[str, Any], streams: list[int]) -> Callable[[], None]:
    """Make this process what a start by `python` gives: session, streams, environment; return what runs the program."""
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if os.isatty(0):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.stdin = sys.__stdin__ = open(0, closefd=False)
    sys.stdout = sys.__stdout__ = text_stream(1)
    sys.stderr = sys.__stderr__ = text_stream(2)
    arguments = request["arguments"]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        return lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    return lambda: run_as_main(arguments[0])


def text_stream(number: int) -> io.TextIOWrapper:
    """Return a standard stream for output, buffered as Python does it."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    stream = open(number, "wb", 0 if unbuffered else -1, closefd=False)
    by_line = os.isatty(number) or number == 2
    return io.TextIOWrapper(stream, line_buffering=by_line, write_through=unbuffered)


def run_as_main(file: str) -> None:
    """Run a file in a module `__main__`, which stays until the interpreter ends."""
    module = types.ModuleType("__main__")
    module.__file__ = file
    sys.modules["__main__"] = module
    with open(file, "rb") as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    exec(code, vars(module))


if __name__ == "__main__":
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError:  # what this torch does not have is not imported by a program either
            pass
    program = serve(socket.socket(fileno=int(sys.argv[1])))
    if program is not None:
        program()
