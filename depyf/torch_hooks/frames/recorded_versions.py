"""The versions that contexts of this process have recorded: a later context need not record them again.

With a context for each test, each would otherwise write what all tests before it compiled.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Dict


class RecordedVersions:
    """Code objects by identity, as long as they live: `==` compares all of two code objects."""

    def __init__(self) -> None:
        self._known: Dict[int, weakref.ref[CodeType]] = {}

    def add(self, code: CodeType) -> None:
        """Record that a context has recorded the version that runs as `code`."""
        number, known = id(code), self._known
        if number not in known:
            known[number] = weakref.ref(code, lambda _: known.pop(number, None) and None)

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._known


RECORDED = RecordedVersions()  # of this process
