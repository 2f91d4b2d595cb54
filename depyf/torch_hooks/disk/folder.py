"""The folder that receives the files of one session."""

from __future__ import annotations

import os
import threading
import time
import uuid
from typing import Any, Dict, Sequence, Set

from depyf.errors import OutputFolderError
from depyf.problems import CannotWrite, Problems
from depyf.record.journal import line
from depyf.torch_hooks.disk import process_folders
from depyf.torch_hooks.disk.claims import JOURNAL
from depyf.torch_hooks.disk.file_names import same_file
from depyf.torch_hooks.disk.leftovers import DRAFT, MANIFEST, TIMINGS, has_foreign_manifest, read_leftover, remove
from depyf.torch_hooks.disk.process_folders import Home

__all__ = ["MANIFEST", "TIMINGS", "OutputFolder"]

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class OutputFolder:
    """Writes files and remembers their names.

    `top` is the folder that the user gave; `path` is the one that this process writes in, `top` or a folder below it.
    Which one may be known only when the first file is written (see `processes`).
    """

    def __init__(self, top: str, problems: Problems, forked_from: str | None = None) -> None:
        self.top = os.path.abspath(top)
        self.problems = problems
        self.files: Set[str] = set()
        self.started = time.time()
        self._forked_from = forked_from
        self._home: Home | None = None
        self._closed = False
        self._next: Dict[str, int] = {}
        self._taken: Set[str] = set()  # names as `same_file` folds them: some file systems take `A` and `a` for one
        self._lock = threading.RLock()

    # -- its place

    def open(self) -> str:
        """Check that files can be written; OutputFolderError if not.

        Files that an earlier run listed are removed.  Those of an earlier session of this process stay, and the text
        of its manifest is returned: new files get numbers after theirs.
        """
        try:
            os.makedirs(self.top, exist_ok=True)
            if has_foreign_manifest(self.top):
                raise OSError("its manifest.json is another program's")
            probe = os.path.join(self.top, ".depyf-" + uuid.uuid4().hex)
            with open(probe, "w", encoding="utf-8") as stream:
                stream.write("")
            os.remove(probe)
            if process_folders.has_home(self.top) or not process_folders.may_get_a_rank_later():
                return self._choose_home().earlier
        except OSError as error:
            raise OutputFolderError(
                f"depyf cannot write its files to {self.top!r}: {error.strerror or error}. "
                "Give prepare_debug a folder that can be made and written."
            ) from error
        return ""

    @property
    def path(self) -> str:
        """The folder of this process, chosen now if it is not yet.  OSError when none can be written."""
        return self._require_home().path

    @property
    def known_path(self) -> str:
        """The folder of this process; while none is chosen, the folder that was given."""
        return self.top if self._home is None else self._home.path

    @property
    def rank(self) -> process_folders.Rank | None:
        """The rank of this process, as far as it is known now."""
        return process_folders.current_rank() or (None if self._home is None else self._home.rank)

    @property
    def run(self) -> str:
        """The run of the program that this process belongs to."""
        return process_folders.this_run() if self._home is None else self._home.run

    def _require_home(self) -> Home:
        try:
            return self._choose_home()
        except OSError as error:
            raise self.problems.cannot_write(self.top, error) from error

    def _choose_home(self) -> Home:
        with self._lock:
            if self._home is None:
                self._home = process_folders.choose_home(self.top, self._forked_from)
                names = read_leftover(self._home.path).file_names() if self._home.earlier else ()
                self.files.update(names)
                self._taken.update(map(same_file, names))
                self.append(header=self.identity())
            return self._home

    def identity(self) -> Dict[str, Any]:
        """Return what identifies this process; it differs from run to run, and only timings.json holds it."""
        return {
            "process": process_folders.process_token(),
            "run": self.run,
            "pid": os.getpid(),
            "started": self.started,
            "rank": None if self.rank is None else self.rank.rank,
            "world_size": None if self.rank is None else self.rank.world_size,
        }

    def for_child(self) -> OutputFolder:
        """Return a folder for a forked child, created when the child first compiles."""
        if self._home is not None and not self._closed:
            self._home.claim.forget()
        return OutputFolder(self.top, Problems(), None if self._home is None else self._home.path)

    def close(self, is_complete: bool) -> None:
        """Release the folder.  The journal is removed if the manifest is complete."""
        with self._lock:
            if self._home is not None and not self._closed:
                self._closed = True
                self._home.claim.release(keep_journal=not is_complete)

    # -- its files

    def of(self, name: str) -> str:
        """Return the absolute path of a file in the folder."""
        return os.path.join(self.path, name)

    def number(self, template: str) -> int:
        """Return the next free number for a file name with one `{}` in it."""
        self._require_home()  # files of an earlier session have their numbers
        number = self._next.get(template, 0)
        while same_file(template.format(number)) in self._taken:
            number += 1
        self._next[template] = number + 1
        self._taken.add(same_file(template.format(number)))
        return number

    def append(self, **content: Any) -> None:
        """Add a line to the journal."""
        self.append_all([content])

    def append_all(self, contents: Sequence[Dict[str, Any]]) -> None:
        """Add lines to the journal in one write."""
        home = self._require_home()
        with self._lock:
            try:
                if not self._closed and contents:
                    home.claim.append("\n".join(line(**content) for content in contents))
            except OSError as error:
                self.problems.cannot_write(os.path.join(home.path, JOURNAL), error)

    def write(self, name: str, text: str) -> str:
        """Write a text file whole; returns its path."""
        return self.write_bytes(name, text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, name: str, content: bytes) -> str:
        """Write a file whole: no reader finds half of it, not even after a crash.

        CannotWrite when the disk is full, the folder removed and the like; the user is warned once.
        """
        with self._lock:
            try:
                folder = self.path
                path, draft = os.path.join(folder, name), os.path.join(folder, DRAFT)
                if name not in self.files and name != MANIFEST:
                    self.append(file=name)
                _write(draft, content)
                os.replace(draft, path)
            except CannotWrite:
                raise
            except OSError as error:
                if self._home is not None:
                    remove(os.path.join(self._home.path, DRAFT))
                raise self.problems.cannot_write(os.path.join(self.known_path, name), error) from error
            if name != MANIFEST:
                self.files.add(name)
        return path


def _write(path: str, content: bytes) -> None:
    """Write a file by system calls alone, for speed: there are two or three files for each frame."""
    descriptor = os.open(path, _NEW_FILE, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
