"""A small client of pydevd's own protocol, the one that PyCharm speaks: lines of an id, a number and a text.

The client listens and the program connects to it. All waiting is for a message, with a limit.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
from pathlib import Path
from urllib.parse import unquote

from debug_adapter_client import LIMIT

RUN, STEP_RETURN, GET_FRAME, SET_BREAK, REMOVE_BREAK, EVALUATE, VERSION = 101, 109, 114, 111, 112, 113, 501
SUSPENDED, RESUME, STEP_OVER_MY_CODE, STEP_INTO_MY_CODE, STEP_RETURN_MY_CODE = 105, 106, 159, 144, 160
ERROR = 901


class PydevdStop:
    """A stop of the program."""

    def __init__(self, client: PydevdClient, text: str) -> None:
        self.client, self.thread = client, re.search(r'thread id="([^"]+)"', text).group(1)
        frames = re.findall(r'<frame id="(\w+)" name="([^"]*)" file="([^"]*)" line="(\d+)"', text)
        self.frame, self.function = frames[0][0], frames[0][1]
        self.file, self.line = os.path.basename(unquote(unquote(frames[0][2]))), int(frames[0][3])

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def variables(self) -> dict[str, str]:
        """Return {name: value} of the locals."""
        answer = self.client.ask(GET_FRAME, f"{self.thread}\t{self.frame}\tFRAME")
        return {name: unquote(unquote(value)) for name, value in re.findall(r'<var name="(\w+)"[^>]* value="([^"]*)"', answer)}

    def go(self, command: int) -> PydevdStop | None:
        """Continue with a command; return the next stop, None at the end of the program."""
        self.client.send(command, self.thread)
        return self.client.stop()


class PydevdClient:
    """A server on a free port, to which one program connects."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(LIMIT)
        self.port = self._server.getsockname()[1]
        self._numbers = itertools.count(101, 2)
        self._waiting: list[tuple[int, int, str]] = []

    def accept(self, breakpoints: dict) -> None:
        """Wait for the program, set breakpoints and let it run."""
        self._socket, _ = self._server.accept()
        self._socket.settimeout(LIMIT)
        self._stream = self._socket.makefile("rwb")
        self.ask(VERSION, "1.1\tUNIX\tLINE")
        for file, lines in breakpoints.items():
            self.set_breakpoints(file, lines)
        self.send(RUN, "")

    def set_breakpoints(self, file: Path | str, lines: list[int]) -> None:
        for line in lines:
            self.send(SET_BREAK, f"python-line\t{file}\t{line}\tNone\tNONE\tNone\tNone")

    def remove_breakpoint(self, file: Path | str, line: int) -> None:
        self.send(REMOVE_BREAK, f"python-line\t{file}\t{line}")

    def send(self, command: int, text: str) -> int:
        number = next(self._numbers)
        self._stream.write(f"{command}\t{number}\t{text}\n".encode())
        self._stream.flush()
        return number

    def ask(self, command: int, text: str) -> str:
        """Send a command and return the text of its answer."""
        number = self.send(command, text)
        return self._next(lambda message: message[1] == number)[2]

    def stop(self) -> PydevdStop | None:
        """Wait for the next stop; None at the end of the program."""
        message = self._next(lambda one: one[0] in (SUSPENDED, 0))
        return PydevdStop(self, message[2]) if message[0] else None

    def close(self) -> None:
        for one in (getattr(self, "_stream", None), getattr(self, "_socket", None), self._server):
            if one is not None:
                one.close()

    def _next(self, is_wanted) -> tuple[int, int, str]:
        for place, message in enumerate(self._waiting):
            if is_wanted(message):
                return self._waiting.pop(place)
        while True:
            line = self._stream.readline().decode()
            parts = line.rstrip("\n").split("\t", 2)
            message = (int(parts[0]), int(parts[1]), unquote(parts[2])) if line else (0, 0, "")
            assert message[0] != ERROR, message
            if is_wanted(message):
                return message
            assert line, "the program has closed the connection"
            self._waiting.append(message)
