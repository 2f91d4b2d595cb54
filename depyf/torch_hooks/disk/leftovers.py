"""What processes left in a folder: read it, and remove it without touching anything else.

Only files that a manifest or a journal of ours lists are ever removed.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Set, Tuple

from depyf.page.page_folder import remove_parts
from depyf.record.journal import file_names, header_of, replay
from depyf.record.records import SessionRecord
from depyf.record.saved_form import RecordFormatError
from depyf.torch_hooks.disk.claims import JOURNAL, is_claimed
from depyf.torch_hooks.disk.foreign_files import (
    DRAFT,
    INDEX,
    MANIFEST,
    TIMINGS,
    is_own_manifest,
    names_for,
    open_draft,
    read_manifest,
    read_text,
)
from depyf.torch_hooks.disk.known_manifests import contents, read

_BELOW = re.compile(r"(rank|process)_\d+")


@dataclass(frozen=True)
class Leftover:
    """A folder as its last process left it, or as it is now where that process still runs."""

    folder: str
    manifest: str = ""  # text of manifest.json
    journal: str = ""  # text of the journal
    identity: Dict[str, Any] = field(default_factory=dict)  # "process", "run", "started", "ended" ...
    manifest_name: str = MANIFEST

    @property
    def exists(self) -> bool:
        """Whether any process of ours wrote here."""
        return bool(self.manifest or self.journal)

    @property
    def process(self) -> str:
        """The token of the process that wrote here, which no other process has."""
        return str(self.identity.get("process", ""))

    @property
    def run(self) -> str:
        """The run of a program, of one or many processes, that this belongs to."""
        return str(self.identity.get("run", ""))

    @property
    def alike(self) -> int:
        """The number of processes that compiled the very same, and whose folders were removed."""
        return int(_number(self.identity.get("alike")))

    @property
    def started(self) -> float:
        """When that process entered its context."""
        return _number(self.identity.get("started"))

    @property
    def last_seen(self) -> float:
        """When something was written here last."""
        return max([_number(self.identity.get("ended")), *map(_changed, self._own_files())])

    def _own_files(self) -> List[str]:
        return [os.path.join(self.folder, name) for name in (self.manifest_name, JOURNAL)]

    def record(self) -> SessionRecord:
        """Return the record of the process, from its manifest and its journal."""
        try:
            base = read(self.manifest) if self.manifest else SessionRecord()
        except (RecordFormatError, ValueError):
            base = SessionRecord()
        return replay(base, self.journal) if self.journal else base

    def file_names(self) -> Tuple[str, ...]:
        """Return the names of the files that the process wrote here."""
        names = [*file_names(self.journal), *contents(self.manifest).files]
        return tuple(dict.fromkeys(name for name in names if os.path.basename(name) == name))


def read_leftover(folder: str) -> Leftover:
    """Return what there is in a folder; files that cannot be read, or are not ours, count as missing."""
    manifest, name = read_manifest(folder)
    journal = read_text(os.path.join(folder, JOURNAL), is_own=True)
    identity = header_of(journal)
    left = Leftover(folder, manifest, journal if identity else "", identity, name or MANIFEST)
    if identity or not manifest:
        return left
    own = left.file_names()
    timings = next((name for name in names_for(TIMINGS) if name in own), "")
    try:
        found = json.loads(read_text(os.path.join(folder, timings), is_own=True)) if timings else {}
    except ValueError:
        found = {}
    return replace(left, identity=found if isinstance(found, dict) else {})


def folders_below(folder: str) -> List[str]:
    """Return the folders of ranks and other processes below this one, in the order of their numbers, at any depth."""
    try:
        names = [name for name in os.listdir(folder) if _BELOW.fullmatch(name)]
    except OSError:
        return []
    found = []
    for name in sorted(names, key=lambda name: (name.split("_")[0] != "rank", int(name.split("_")[1]))):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            found += [path, *folders_below(path)]
    return found


def remove_files(leftover: Leftover) -> None:
    """Remove what the process wrote; the journal stays, as it may be claimed."""
    if not leftover.exists:
        return
    for name in (*leftover.file_names(), *([DRAFT] if leftover.journal else [])):
        remove(os.path.join(leftover.folder, name))
    if not set(names_for(INDEX)).isdisjoint(leftover.file_names()):
        remove_parts(leftover.folder)
    for path in (os.path.join(leftover.folder, name) for name in names_for(MANIFEST)):
        if is_own_manifest(path):
            remove(path)


def active_runs_below(folder: str) -> Set[str]:
    """Return the runs that have a process writing in a folder below this one now."""
    return {read_leftover(path).run for path in folders_below(folder) if is_claimed(path)}


def remove_stale_below(folder: str, run: str, before: float, check: Callable[[], object] = bool) -> None:
    """Remove folders of other runs whose processes ended before the time `before`; `check` may raise between two."""
    for path in reversed(folders_below(folder)):  # the deepest first
        check()
        left = read_leftover(path)
        if not left.exists or left.run == run or is_claimed(path) or left.last_seen >= before:
            continue
        remove_files(left)
        remove(os.path.join(path, JOURNAL))
        try:
            os.rmdir(path)  # fails when there is anything else in it
        except OSError:
            pass


def write_file(folder: str, name: str, text: str) -> None:
    """Write a text file whole or not at all; the caller holds the claim on the folder, and the file is ours."""
    draft, descriptor = open_draft(folder)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8", "backslashreplace"))
        os.replace(draft, os.path.join(folder, name))
    except OSError:
        remove(draft)
        raise


def remove(path: str) -> None:
    """Remove a file, if it exists and can be removed."""
    try:
        os.remove(path)
    except OSError:
        pass


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
