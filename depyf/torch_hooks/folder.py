"""The folder that receives the files of one session."""

from __future__ import annotations

import json
import os
import threading
import uuid
from typing import Dict, Set

from depyf.errors import OutputFolderError
from depyf.torch_hooks.problems import Problems

MANIFEST = "manifest.json"
TIMINGS = "timings.json"
DRAFT = ".depyf-draft"  # a file on its way: at most one in a folder, left behind by a process that was killed

# Tells files of an earlier session of this process, whose code may still run, from those of an earlier run.
PROCESS_TOKEN = uuid.uuid4().hex


class OutputFolder:
    """Makes the folder, or says clearly why that cannot be; then writes files and remembers their names."""

    def __init__(self, path: str, problems: Problems) -> None:
        self.path = os.path.abspath(path)
        self.problems = problems
        self.files: Set[str] = set()
        self._next: Dict[str, int] = {}
        self._taken: Set[str] = set()  # names in lower case: some file systems do not tell `A` from `a`
        self._lock = threading.Lock()

    def open(self) -> str:
        """Make sure that files can be written; OutputFolderError if not.

        Files that the manifest of an earlier run lists are removed.  Those of an earlier session of this
        process stay, and the text of its manifest is returned: new files get numbers after theirs.
        """
        try:
            os.makedirs(self.path, exist_ok=True)
            probe = os.path.join(self.path, ".depyf-" + uuid.uuid4().hex)
            with open(probe, "w", encoding="utf-8") as stream:
                stream.write("")
            os.remove(probe)
        except OSError as error:
            raise OutputFolderError(
                f"depyf cannot write its files to {self.path!r}: {error.strerror or error}. "
                "Give prepare_debug a folder that can be made and written."
            ) from error
        return self._earlier_manifest()

    def _earlier_manifest(self) -> str:
        try:
            with open(self.of(MANIFEST), encoding="utf-8") as stream:
                manifest = stream.read()
            files = json.loads(manifest)["files"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        names = [name for name in files if isinstance(name, str) and os.path.basename(name) == name]
        if self._made_by_this_process():
            self.files.update(names)
            self._taken.update(name.lower() for name in names)
            return manifest
        for name in [*names, MANIFEST, DRAFT]:
            _remove(self.of(name))
        return ""

    def _made_by_this_process(self) -> bool:
        try:
            with open(self.of(TIMINGS), encoding="utf-8") as stream:
                return bool(json.load(stream)["process"] == PROCESS_TOKEN)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def of(self, name: str) -> str:
        """The absolute path of a file in the folder."""
        return os.path.join(self.path, name)

    def number(self, template: str) -> int:
        """The next free number for a file name with one `{}` in it."""
        number = self._next.get(template, 0)
        while template.format(number).lower() in self._taken:
            number += 1
        self._next[template] = number + 1
        self._taken.add(template.format(number).lower())
        return number

    def write(self, name: str, text: str) -> str:
        """Write a text file whole; returns its path."""
        return self.write_bytes(name, text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, name: str, content: bytes) -> str:
        """Write a file whole: a reader, or a crash, never meets half of it.

        CannotWrite when the disk is full, the folder gone and the like; the user is told once.
        """
        path, draft = self.of(name), self.of(DRAFT)
        with self._lock:
            try:
                with open(draft, "wb") as stream:
                    stream.write(content)
                os.replace(draft, path)
            except OSError as error:
                _remove(draft)
                raise self.problems.cannot_write(path, error) from error
            self.files.add(name)
        return path


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass
