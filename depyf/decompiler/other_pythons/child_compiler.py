"""A compiler in a child process: an interpreter of another version that compiles texts, one after the other.

What the child sends back is read like a file that nobody vouches for. A child that dies (a text can be too deep for its
parser) is started again; after SECONDS of waiting for its answers it is killed, and no text compiles any more.
"""

from __future__ import annotations

import os
import struct
import subprocess
import threading
import time
from types import CodeType, TracebackType
from typing import Optional, Tuple, Type

from depyf.decompiler.bytecode.code_flags import lowered_future_flags
from depyf.decompiler.bytecode.python_facts import Version, facts_for
from depyf.decompiler.other_pythons import compiling_child
from depyf.decompiler.other_pythons.compiling_child import ANSWER, COMPILED, REQUEST, SYNTAX_ERROR
from depyf.decompiler.pyc import DamagedFile, read_marshalled
from depyf.decompiler.pyc.file_header import magic_number
from depyf.decompiler.recompile import CannotRecompile

SECONDS = 30.0  # of waiting for the answers of one child, those that died before included
SECONDS_TO_START = 10.0
MOST_STARTS = 5
LARGEST_ANSWER = 1 << 28  # bytes
# Isolated from the environment and from the folders of the user, without site packages; no warnings.
OPTIONS = ("-I", "-S", "-B", "-W", "ignore")


class ChildCompiler:
    """Compile texts with another interpreter; see `Compiler` in `recompile`."""

    def __init__(self, python: str, version: Version) -> None:
        self.python = python
        self.version = version
        self.name = f"Python {version[0]}.{version[1]}"
        self.seconds_left = SECONDS
        self.starts_left = MOST_STARTS
        self.process: Optional[subprocess.Popen[bytes]] = None

    def __enter__(self) -> ChildCompiler:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def starts(self) -> bool:
        """Start the child; return whether it is a CPython of the version."""
        command = [self.python, *OPTIONS, os.path.abspath(compiling_child.__file__)]
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        except (OSError, ValueError):
            return False
        _, data = self._answer(SECONDS_TO_START)
        if data == magic_number(self.version) + b"cpython":
            return True
        self.close()
        return False

    def close(self) -> None:
        """End the child."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __call__(self, text: str, filename: str, mode: str, flags: int) -> CodeType:
        if self.process is None and not self._starts_again():
            raise CannotRecompile(f"{self.name} did not compile a text, or took more than {SECONDS:.0f} s")
        flags = lowered_future_flags(flags, facts_for(self.version).future_flags_shift)
        parts = [part.encode("utf-8", "surrogatepass") for part in (mode, filename, text)]
        request = struct.pack(REQUEST, flags, *map(len, parts)) + b"".join(parts)
        begin = time.monotonic()
        status, data = self._answer(self.seconds_left, request)
        self.seconds_left -= time.monotonic() - begin
        if status is None:
            self.close()
            raise CannotRecompile(f"{self.name} ended while it compiled the text")
        if status == COMPILED:
            try:
                return read_marshalled(data, self.version)
            except DamagedFile as error:
                raise CannotRecompile(f"{self.name} compiled the text to what no code object is: {error}") from error
        message = data.decode("utf-8", "replace")
        raise SyntaxError(message) if status == SYNTAX_ERROR else CannotRecompile(message)

    def _starts_again(self) -> bool:
        self.starts_left -= 1
        return self.seconds_left > 0 and self.starts_left > 0 and self.starts()

    def _answer(self, seconds: float, request: bytes = b"") -> Tuple[Optional[int], bytes]:
        """Send a request, and return the status and the data of the answer; the status is None if there is none."""
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        timer = threading.Timer(max(seconds, 0.0), process.kill)
        timer.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            head = process.stdout.read(struct.calcsize(ANSWER))
            if len(head) < struct.calcsize(ANSWER):
                return None, b""
            status, size = struct.unpack(ANSWER, head)
            data = process.stdout.read(min(size, LARGEST_ANSWER))
            return (status, data) if len(data) == size else (None, b"")
        except OSError:  # it ended before it read all of the request
            return None, b""
        finally:
            timer.cancel()
