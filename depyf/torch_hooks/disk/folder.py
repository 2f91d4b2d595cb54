"""The folder that receives the files of one session."""

from __future__ import annotations

import errno
import os
import threading
import time
import uuid
from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf.errors import OutputFolderError
from depyf.problems import CannotWrite, Problems
from depyf.record.journal import line
from depyf.torch_hooks.disk import process_folders
from depyf.torch_hooks.disk.claims import JOURNAL
from depyf.torch_hooks.disk.file_names import same_file
from depyf.torch_hooks.disk.foreign_files import INDEX, MANIFEST, SUMMARY, TIMINGS, name_to_write, open_draft
from depyf.torch_hooks.disk.leftovers import Leftover, read_leftover, remove
from depyf.torch_hooks.disk.process_folders import Home

__all__ = ["INDEX", "MANIFEST", "SUMMARY", "TIMINGS", "OutputFolder"]


class OutputFolder:
    """Writes files and remembers their names.

    `top` is the folder that the user gave; `path` is the one that this process writes in, `top` or a folder below it.
    Which one may be known only when the first file is written (see `processes`).
    """

    def __init__(self, top: str, problems: Problems, forked_from: str | None = None, home: Home | None = None) -> None:
        self.top = os.path.abspath(top)
        self.problems = problems
        self.files: Set[str] = set()
        self.kept: Dict[str, str] = {}  # name of a file that is someone else's and stays -> the name that ours took
        self.started = time.time()
        self._forked_from = forked_from
        self._home: Home | None = home  # given where another process's files are written, which has a rank of its own
        self._is_given = home is not None
        self._closed = False
        self._next: Dict[str, int] = {}
        self._taken: Set[str] = set()  # names as `same_file` folds them: some file systems take `A` and `a` for one
        self._manifest: Tuple[str, Tuple[int, ...]] = ("", ())  # its name, and the state of the file as it was written
        self._lock = threading.RLock()
        if home is not None:
            self.append(header=self.identity())

    # -- its place

    def open(self) -> str:
        """Check that files can be written; OutputFolderError if not.

        Files that an earlier run listed are removed.  Those of an earlier session of this process stay, and the text
        of its manifest is returned: new files get numbers after theirs.
        """
        try:
            os.makedirs(self.top, exist_ok=True)
            name_to_write(self.top, MANIFEST, ())
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
        own = None if self._home is None else self._home.rank
        return own if self._is_given else process_folders.current_rank() or own

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
                if self._home.earlier:
                    self._continue(read_leftover(self._home.path))
                self.append(header=self.identity())
            return self._home

    def _continue(self, left: Leftover) -> None:
        """Take over the files of an earlier session of this process."""
        self.files.update(left.file_names())
        self._taken.update(map(same_file, left.file_names()))
        self._manifest = (left.manifest_name, _state(os.path.join(left.folder, left.manifest_name)))

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

    def has(self, name: str) -> bool:
        """Return whether a file of that name is ours and still there."""
        return name in self.files and os.path.isfile(self.of(name))

    def number(self, template: str, beside: Sequence[str] = ()) -> int:
        """Return the next free number for a file name with one `{}` in it, free also with each suffix of `beside`.

        A number is not free where a file of someone else has the name.
        """
        folder = self._require_home().path  # files of an earlier session have their numbers
        number = self._next.get(template, 0)
        kept: List[str] = []
        while True:
            name = template.format(number)
            if same_file(name) not in self._taken:
                found = [one for one in (name, *(name + suffix for suffix in beside)) if _exists(folder, one)]
                if not found:
                    break
                kept += found
            number += 1
        self.kept.update(dict.fromkeys(kept, name))
        self._next[template] = number + 1
        self._taken.add(same_file(name))
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
            draft = ""
            try:
                folder = self.path
                name = self._name_to_write(folder, name)
                path = os.path.join(folder, name)
                if name not in self.files and name != self._manifest[0]:
                    self.append(file=name)
                draft, descriptor = open_draft(folder)
                _write(descriptor, content)
                os.replace(draft, path)
            except CannotWrite:
                raise
            except OSError as error:
                if draft:
                    remove(draft)
                raise self.problems.cannot_write(os.path.join(self.known_path, name), error) from error
            if name == self._manifest[0]:
                self._manifest = (name, _state(path))
            else:
                self.files.add(name)
        return path

    def _name_to_write(self, folder: str, name: str) -> str:
        """Return the name that a file gets; FileExistsError where it would replace a file of someone else."""
        if name == MANIFEST:
            known, state = self._manifest
            if not known or state != _state(os.path.join(folder, known)):
                known = name_to_write(folder, MANIFEST, ())
            self._manifest = (known, ())
            own = known
        elif name in (TIMINGS, SUMMARY, INDEX):
            own = name_to_write(folder, name, self.files)
        elif name in self.files or not _exists(folder, name):
            return name
        else:
            raise FileExistsError(errno.EEXIST, "a file of that name is there, and depyf did not write it")
        if own != name:
            self.kept[name] = own
        return own


def _exists(folder: str, name: str) -> bool:
    return os.path.lexists(os.path.join(folder, name))


def _state(path: str) -> Tuple[int, ...]:
    """Return what changes when another file is put in the place of this one; empty where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _write(descriptor: int, content: bytes) -> None:
    """Write a file by system calls alone, for speed, and close it: there are two or three files for each frame."""
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
