"""Claims: the right to write in a folder, held by one process at a time and released when the process dies.

While a process writes in a folder there is a file `depyf_journal.jsonl` in it, locked with flock, that lists line by
line what has been written so far.  So there are three states:

    no journal              no process writes here; a manifest.json is complete
    a journal, locked       a process writes here now
    a journal, not locked   the process that wrote here was killed

Where the system has no flock (Windows, some network file systems) every claim is granted: two programs that run at the
same time must not be given one folder there.
"""

from __future__ import annotations

import errno
import os
import time
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

JOURNAL = "depyf_journal.jsonl"
_TRIES, _PAUSE = 5, 0.01  # `is_claimed` of another process holds the lock for an instant
_HELD = (errno.EWOULDBLOCK, errno.EACCES)
_FIRST_BYTES = b'{"header"'  # of every journal


class Claim:
    """An open, locked journal, to which whole lines are appended."""

    def __init__(self, folder: str, descriptor: int) -> None:
        self.folder = folder
        self._descriptor = descriptor
        self._torn = False  # whether the last line may be incomplete

    @staticmethod
    def take(folder: str) -> Claim | None:
        """Claim a folder that exists; None when a running process has it.  OSError when it cannot be written."""
        for attempt in range(_TRIES):
            claim = _try_to_take(folder)
            if claim is not None:
                return claim
            if attempt + 1 < _TRIES:
                time.sleep(_PAUSE)
        return None

    def append(self, line: str) -> None:
        """Append a line.  OSError when it cannot be written whole; the next line then starts on a line of its own."""
        data = ("\n" if self._torn else "").encode() + line.encode("utf-8", "backslashreplace") + b"\n"
        self._torn = True
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._torn = False

    def empty(self) -> None:
        """Remove what an earlier process wrote to the journal."""
        os.ftruncate(self._descriptor, 0)

    def release(self, keep_journal: bool = False) -> None:
        """Give up the claim, and remove the journal unless it is still needed."""
        path = os.path.join(self.folder, JOURNAL)
        removed = False
        try:
            if keep_journal and os.fstat(self._descriptor).st_size:
                return
            if fcntl is not None:  # while locked, so that no process claims a file that is about to be removed
                os.remove(path)
                removed = True
        except OSError:
            pass
        finally:
            os.close(self._descriptor)
            if fcntl is None and not removed and not keep_journal:
                _remove(path)

    def forget(self) -> None:
        """Close the inherited journal in a forked child; the claim stays the parent's."""
        os.close(self._descriptor)


def _try_to_take(folder: str) -> Claim | None:
    path = os.path.join(folder, JOURNAL)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if not _lock(descriptor, exclusive=True):
            os.close(descriptor)
            return None
        if _is_same_file(descriptor, path):
            return Claim(folder, descriptor)
        os.close(descriptor)  # its last owner removed it in the meantime


def has_foreign_journal(folder: str) -> bool:
    """Return whether something by the name of the journal is there that depyf did not write: it is never claimed."""
    path = os.path.join(folder, JOURNAL)
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        return True
    try:
        with open(path, "rb") as stream:
            first = stream.read(len(_FIRST_BYTES))
    except OSError:
        return False
    return first != _FIRST_BYTES[: len(first)]  # the first line may have been cut off


def is_claimed(folder: str) -> bool:
    """Return whether a running process writes in the folder now."""
    try:
        descriptor = os.open(os.path.join(folder, JOURNAL), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return fcntl is not None and not _lock(descriptor, exclusive=False)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, exclusive: bool) -> bool:
    if fcntl is None:
        return True
    kind: Any = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD  # else: this file system has no locks
    return True


def _is_same_file(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass
