"""Read the events of a log that TORCH_TRACE wrote, one after the other, whatever its size; a `.gz` as it is.

    V1116 21:24:30.283000 10313 torch/_dynamo/output_graph.py:2841] {"dynamo_output_graph": {...}, "frame_id": 0, ...}
        class GraphModule(torch.nn.Module):
                def forward(self, L_x_: "f32[3, 8][8, 1]cpu"):

A line is an event; lines that begin with a tab are its payload. File names in stacks are numbers, and events of the
kind `str` state which. A log may come from anywhere: what is too long is not read, and nothing in it is believed.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List

from depyf.errors import UserError
from depyf.record.records import Location
from depyf.torch_hooks.internals.structured_trace import TraceEvent, read_event

_HEAD = re.compile(rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ [^{]{0,400}\] (?={)")
_RANK_PREFIX = re.compile(rb"\[(?:rank|default)\d+\]: ?")
_LONGEST_LINE = 16 << 20  # bytes
_LONGEST_PAYLOAD = 32 << 20
_MOST_BYTES = 8 << 30  # of all of it, unpacked
_LARGEST_RATIO = 100  # of the bytes that are read and those of the file; a log packs to a tenth or a twentieth
_BLOCK = 1 << 18
_PACKED, _GZIP = b"\x1f\x8b", 31  # how a packed file begins, and what zlib calls the format
_MOST_FILES = 100_000  # names in stacks
_MOST_CALLS = 400  # of one stack
_FILE_NAME = "str"


@dataclass(frozen=True)
class LogEvent:
    """An event of a log."""

    event: TraceEvent
    rank: int | None  # that its metadata names


class LogReader:
    """Reads one log; `files` are the names that its stacks use, as far as it is read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.files: Dict[int, str] = {}
        self.is_cut = False  # it ends in the middle of something, or is longer than what is read

    def events(self, wanted: Callable[[str], bool]) -> Iterator[LogEvent]:
        """Yield the events whose kind is `wanted`; UserError where the file cannot be read."""
        try:
            if not os.path.isfile(self.path):  # a pipe would have no end
                raise UserError(f"{self.path} is no file")
            yield from self._events(wanted)
        except zlib.error:
            self.is_cut = True
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {error.strerror or error}") from error

    def stack(self, value: object) -> List[Location]:
        """Return the calls of a stack in the data of an event, outermost first."""
        found = []
        for one in value[:_MOST_CALLS] if isinstance(value, list) else ():
            if isinstance(one, dict) and isinstance(one.get("line"), int):
                name = one.get("filename")
                file = self.files.get(name, "?") if isinstance(name, int) else str(name)
                found.append(Location(file, one["line"], str(one.get("name", "")), str(one.get("loc") or "").strip()))
        return found

    def _events(self, wanted: Callable[[str], bool]) -> Iterator[LogEvent]:
        metadata: Dict[str, Any] | None = None
        payload = bytearray()
        for line in self._lines():
            if line.startswith(b"\t"):
                if metadata is not None and len(payload) + len(line) <= _LONGEST_PAYLOAD:
                    payload += line[1:]
                continue
            if metadata is not None:
                yield from self._event(metadata, payload)
            metadata, payload = self._metadata(line, wanted), bytearray()
        if metadata is not None:
            yield from self._event(metadata, payload)

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its end; those that are too long are left out."""
        left = min(_MOST_BYTES, _LARGEST_RATIO * os.stat(self.path).st_size + _LONGEST_LINE)
        rest, is_too_long = b"", False
        for block in self._blocks():
            left -= len(block)
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if not is_too_long:
                    yield line + b"\n"
                is_too_long = False
            if len(rest) > _LONGEST_LINE:
                rest, is_too_long, self.is_cut = b"", True, True
            if left < 0:
                self.is_cut = True
                return
        if rest and not is_too_long:
            yield rest

    def _blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the log, unpacked; of a packed one that is cut off what there is."""
        with open(self.path, "rb") as stream:
            block = stream.read(_BLOCK)
            if not block.startswith(_PACKED):
                while block:
                    yield block
                    block = stream.read(_BLOCK)
                return
            unpack = zlib.decompressobj(_GZIP)
            while block:
                yield unpack.decompress(block, _BLOCK)
                block = unpack.unconsumed_tail or stream.read(_BLOCK)
                if unpack.eof:  # a file may be several packed ones, one after the other
                    block = unpack.unused_data + block
                    unpack = zlib.decompressobj(_GZIP) if block else unpack
            self.is_cut = self.is_cut or not unpack.eof

    def _metadata(self, line: bytes, wanted: Callable[[str], bool]) -> Dict[str, Any] | None:
        """Return the metadata of an event; None for a line that is none, and for kinds that are not wanted."""
        head = _HEAD.match(line)
        if head is None:
            return None
        try:
            found = json.loads(line[head.end() :])
        except (ValueError, RecursionError):
            self.is_cut = True
            return None
        if not isinstance(found, dict):
            return None
        name = found.get(_FILE_NAME)
        if isinstance(name, list) and len(name) == 2 and isinstance(name[1], int) and len(self.files) < _MOST_FILES:
            self.files[name[1]] = str(name[0])
            return None
        event = _read(found, "")
        return found if event is not None and wanted(event.kind) else None

    def _event(self, metadata: Dict[str, Any], payload: bytearray) -> Iterator[LogEvent]:
        text = payload.decode("utf-8", "replace")
        event = _read(metadata, text[:-1] if text.endswith("\n") else text)
        rank = metadata.get("rank")
        if event is not None:
            yield LogEvent(event, rank if isinstance(rank, int) and 0 <= rank < 1 << 31 else None)


def _read(metadata: Dict[str, Any], payload: str) -> TraceEvent | None:
    try:
        return read_event(metadata, payload)
    except (TypeError, ValueError, OverflowError):
        return None
