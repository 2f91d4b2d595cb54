"""Read the records of a job's processes, one folder at a time: what is alike is parsed and kept once.

Ranks usually compile the same, so a job of a thousand has a few different records. Two folders are alike when their
manifests and captured graphs are, apart from the rank's number and the index of its device. What was killed, and has a
journal, is read by itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import time
from dataclasses import dataclass
from typing import Dict, Iterator, List, Tuple

from depyf.record.records import SessionRecord
from depyf.record.vocabulary import CAPTURED_GRAPH
from depyf.torch_hooks.disk.leftovers import Leftover, folders_below, read_leftover

_RANK = re.compile(r'^ "rank": ?(\d+)(?=,?$)', re.MULTILINE)  # of the process itself
# The index of a device; each by itself, as `re` searches fast for what begins with letters.
_DEVICES = {
    start: re.compile(re.escape(start) + r"\d+") for start in ("cuda:", "xpu:", "hpu:", "npu:", "mps:", "index=")
}


class TooLong(Exception):
    """The time that somebody may wait for has passed."""


@dataclass(frozen=True)
class Deadline:
    """When to give up; None: never."""

    end: float | None = None

    @staticmethod
    def after(seconds: float) -> Deadline:
        """Return the deadline that many seconds from now."""
        return Deadline(time.monotonic() + seconds)

    def check(self) -> None:
        """Raise TooLong if the time has passed."""
        if self.end is not None and time.monotonic() > self.end:
            raise TooLong


NEVER = Deadline()


@dataclass(frozen=True)
class Member:
    """One process of a run: what is needed of it after its files were read."""

    name: str  # of its folder below the one given
    folder: str
    alike: int
    started: float
    record: SessionRecord
    graphs: Dict[str, str]  # texts of the captured graphs, by file; shared by those that are alike


def members_below(top: str, run: str, deadline: Deadline = NEVER) -> Iterator[Member]:
    """Yield the processes of a run that left something below a folder, in order; TooLong after the deadline."""
    seen: Dict[bytes, Member] = {}
    for path in folders_below(top):
        deadline.check()
        left = read_leftover(path)
        if left.exists and left.run == run:
            yield _member(top, left, seen)


def member_of(top: str, left: Leftover) -> Member:
    """Return a process by what it left."""
    return _member(top, left, {})


def _member(top: str, left: Leftover, seen: Dict[bytes, Member]) -> Member:
    name = os.path.relpath(left.folder, top).replace(os.sep, "/")
    rank = None if left.journal else _RANK.search(left.manifest)
    if rank is None:
        record = left.record()
        return Member(name, left.folder, left.alike, left.started, record, captured_graphs(left.folder, record))
    key = _key(left, rank)
    twin = seen.get(key)
    record = left.record() if twin is None else dataclasses.replace(twin.record, rank=int(rank.group(1)))
    graphs = captured_graphs(left.folder, record)
    graphs_key = key + _graphs_key(graphs)
    twin = seen.get(graphs_key)
    if twin is not None:
        graphs = twin.graphs
    found = Member(name, left.folder, left.alike, left.started, record, graphs)
    seen.setdefault(key, found)
    seen.setdefault(graphs_key, found)
    return found


def _graphs_key(graphs: Dict[str, str]) -> bytes:
    """Return a digest of the texts of graphs without what differs between ranks that did the same."""
    whole = "\0".join(f"{name}\0{text}" for name, text in sorted(graphs.items()))
    return hashlib.sha256(_common(whole).encode("utf-8", "backslashreplace")).digest()


def _key(left: Leftover, rank: re.Match[str]) -> bytes:
    """Return a digest of a manifest without what differs between ranks that did the same."""
    text = left.manifest[: rank.start()] + left.manifest[rank.end() :]
    text = _common(text.replace(f"rank_{rank.group(1)}", "rank_"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


def _common(text: str) -> str:
    """Return a text without the indices of devices."""
    for start, pattern in _DEVICES.items():
        if start in text:
            text = pattern.sub(start, text)
    return text


def captured_graphs(folder: str, record: SessionRecord) -> Dict[str, str]:
    """Return the texts of a record's captured graphs, by the names of their files; those that are there."""
    files = [part.file for graph in record.graphs for part in graph.stages if part.stage == CAPTURED_GRAPH]
    texts: Dict[str, str] = {}
    for name in files:
        path = os.path.join(folder, os.path.basename(name))
        try:
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, encoding="utf-8", errors="replace") as stream:
                texts[name] = stream.read()
        except OSError:
            pass
    return texts


def by_rank(
    members: List[Member],
) -> Tuple[Dict[int, SessionRecord], Dict[int, Dict[str, str]], int | None]:
    """Return the records and graph texts by rank, of the first process of each rank; others are its helpers."""
    records: Dict[int, SessionRecord] = {}
    texts: Dict[int, Dict[str, str]] = {}
    for one in members:
        if one.record.rank is not None and one.record.rank not in records:
            records[one.record.rank] = one.record
            texts[one.record.rank] = one.graphs
    sizes = [record.world_size for record in records.values() if record.world_size is not None]
    return records, texts, max(sizes, default=None)
