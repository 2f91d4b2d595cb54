"""The files that compiled code stems from, with digests of their texts: a line number is true of that text alone."""

from __future__ import annotations

import sys
from typing import Dict, Iterable, Sequence, Tuple

from depyf.record.records import UserFile
from depyf.record.stack_text import digest_of


class UserFiles:
    """The files of a session; each is read once, when code of it is first compiled."""

    def __init__(self, earlier: Sequence[UserFile] = ()) -> None:
        self._earlier = {known.file: known.digest for known in earlier}
        self._digests: Dict[str, str] = {}

    def add(self, files: Iterable[str]) -> None:
        """Add files; those without a text, such as `<stdin>`, are left out of the record."""
        for file in set(files) - set(self._digests):
            self._digests[file] = digest_of(file)

    @property
    def records(self) -> Tuple[UserFile, ...]:
        """Return the files in the order of their names, those of an earlier session in this folder included."""
        digests = {**self._earlier, **self._digests}
        return tuple([UserFile(file, digest, _label(file)) for file, digest in sorted(digests.items()) if digest])


def _label(file: str) -> str:
    """Return "In [3]" for the text of a notebook's third cell; empty for a file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    number = numbers.get(file) if isinstance(numbers, dict) else None
    return f"In [{number}]" if isinstance(number, int) else ""
