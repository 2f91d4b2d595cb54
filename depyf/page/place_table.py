"""Places in the data of the page: a file has a number, and a place is `[file, line, code, function]`."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from depyf.record.records import Location
from depyf.text.short_paths import ShortPaths

Data = Dict[str, Any]


class PlaceTable:
    """Numbers the files of the user's program in the order in which they are first named."""

    def __init__(self, folders: Sequence[str], labels: Mapping[str, str] = {}) -> None:
        self._short = ShortPaths(folders)
        self._labels = labels  # what a reader calls files that are none: cells of notebooks
        self._numbers: Dict[str, int] = {}

    def file(self, path: str) -> int:
        """Return the number of a file."""
        return self._numbers.setdefault(path, len(self._numbers))

    def of(self, place: Optional[Location]) -> Optional[List[Any]]:
        """Return a place; None for an unknown one."""
        return None if place is None else [self.file(place.file), place.line, place.code, place.function]

    def all_of(self, places: Iterable[Location]) -> List[List[Any]]:
        """Return places in their order."""
        return [[self.file(place.file), place.line, place.code, place.function] for place in places]

    def is_of_program(self, path: str) -> bool:
        """Return whether a file is one of the program's own, and none of an installed package."""
        return self._short.is_of_program(path)

    def files(self) -> List[Data]:
        """Return the files that were named so far, by number."""
        return [
            {
                "path": self._labels.get(path) or path,
                "short": self._labels.get(path) or self._short.of(path),
                "own": path in self._labels or self._short.is_of_program(path),
            }
            for path in self._numbers
        ]
