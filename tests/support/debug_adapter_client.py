"""A small client of the Debug Adapter Protocol, and a program that a real debugpy server controls.

The program prints its port where the client is to connect (`stepped_program`); what runs before is not slowed down by a
debugger. All waiting is for a message or for the end of the program, with a limit.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Callable

from forked_programs import ForkedProgram
from repository import ROOT

LIMIT = 120  # seconds that one message, or the end of the program, may take


class Program:
    """A running program whose output is collected."""

    def __init__(self, arguments: list[str], **variables: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONBREAKPOINT"}
        environment.update(OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(sys.path), TORCHINDUCTOR_COMPILE_THREADS="1")
        environment.update(PYDEVD_DISABLE_FILE_VALIDATION="1", PYTHONUNBUFFERED="1", **variables)
        reading, writing = os.pipe()
        with open(os.devnull) as nothing:
            self.process = ForkedProgram(arguments, (nothing.fileno(), writing, writing), environment)
        os.close(writing)
        self._pipe = open(reading)
        self.output = ""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._pipe:
            self.output += line
            self._lines.put(line)
        self._lines.put(None)

    def line_with(self, text: str) -> str:
        """Return the next line of output that contains a text."""
        deadline = time.monotonic() + LIMIT
        while True:
            line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            assert line is not None, f"the program ended before {text!r}:\n{self.output}"
            if text in line:
                return line

    def end(self) -> int:
        """Wait for the end of the program, and return its status."""
        status = self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return status

    def close(self) -> None:
        """End the program, and the adapter that it has started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        self._pipe.close()


class Gone(Exception):
    """The program has ended before it could answer."""


class Stop:
    """A stop of the program."""

    def __init__(self, client: Client, event: dict) -> None:
        self.client, self.reason, self.thread = client, event["reason"], event["threadId"]
        self.frames = client.ask("stackTrace", threadId=self.thread, startFrame=0, levels=40)["stackFrames"]

    @property
    def file(self) -> str:
        return os.path.basename(self.frames[0]["source"]["path"])

    @property
    def line(self) -> int:
        return self.frames[0]["line"]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def variables(self) -> dict[str, str]:
        """Return {name: value} of the locals of the innermost frame."""
        scopes = self.client.ask("scopes", frameId=self.frames[0]["id"])["scopes"]
        found = self.client.ask("variables", variablesReference=scopes[0]["variablesReference"])["variables"]
        return {one["name"]: one["value"] for one in found}

    def evaluate(self, expression: str) -> str:
        """Return the value of an expression in the innermost frame."""
        return self.client.ask("evaluate", expression=expression, frameId=self.frames[0]["id"], context="repl")["result"]

    def go(self, command: str) -> Stop | None:
        """Continue with a command of the protocol; return the next stop, None at the end of the program."""
        self.client.send(command, threadId=self.thread)
        return self.client.stop()

    def resume(self) -> Stop | None:
        return self.go("continue")


class Client:
    """A connection to the adapter of a program that waits for it; `breakpoints` are asked for once it does."""

    def __init__(self, program: Program, breakpoints: Callable[[], dict[str, list]], just_my_code: bool = True) -> None:
        self.program = program
        port = int(program.line_with("PORT").split()[1])
        self._socket = socket.create_connection(("127.0.0.1", port), LIMIT)
        self._stream = self._socket.makefile("rwb")
        self._numbers = itertools.count(1)
        self._waiting: list[dict] = []
        self.ask("initialize", clientID="tests", adapterID="debugpy", pathFormat="path", linesStartAt1=True)
        # Where depyf is installed it is a library; here its files lie beside the program.
        rules = [{"path": str(ROOT / "depyf/torch_hooks/internals/run_only.py"), "include": False}] if just_my_code else []
        self.send("attach", justMyCode=just_my_code, rules=rules, redirectOutput=False, subProcess=False)
        self._next(lambda message: message.get("event") == "initialized")
        for file, places in breakpoints().items():
            self.set_breakpoints(file, places)
        self.ask("configurationDone")

    def send(self, command: str, **arguments: object) -> int:
        number = next(self._numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._stream.flush()
        return number

    def ask(self, command: str, **arguments: object) -> dict:
        """Send a request and return the body of its answer."""
        number = self.send(command, **arguments)
        answer = self._next(lambda message: message["type"] == "response" and message["request_seq"] == number)
        if not answer["success"] and "disconnected" in answer.get("message", ""):
            raise Gone(answer["message"])
        assert answer["success"], f"{command}: {answer}"
        return answer.get("body") or {}

    def set_breakpoints(self, file: Path | str, places: list) -> list[dict]:
        """Set the breakpoints of a file: lines, or (line, condition)."""
        points = [{"line": one} if isinstance(one, int) else {"line": one[0], "condition": one[1]} for one in places]
        return self.ask("setBreakpoints", source={"path": str(file)}, breakpoints=points)["breakpoints"]

    def stop(self) -> Stop | None:
        """Wait for the next stop; None at the end of the program."""
        while True:
            message = self._next(lambda one: one.get("event") in ("stopped", "terminated"))
            if message["event"] == "terminated":
                self.close()
                return None
            try:
                return Stop(self, message["body"])
            except Gone:  # the adapter may announce a stop, and then find that the program has ended: nothing held it
                continue

    def close(self) -> None:
        """Close the connection: only then the adapter ends, which has the program's output open as well."""
        self._stream.close()
        self._socket.close()

    def _next(self, is_wanted) -> dict:
        for place, message in enumerate(self._waiting):
            if is_wanted(message):
                return self._waiting.pop(place)
        while True:
            message = self._read()
            if is_wanted(message):
                return message
            self._waiting.append(message)

    def _read(self) -> dict:
        size = 0
        while True:
            line = self._stream.readline()
            assert line, f"the adapter closed the connection:\n{self.program.output}"
            if not line.strip():
                return json.loads(self._stream.read(size))
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
