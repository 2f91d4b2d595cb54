"""Places in the data of the page: a file has a number, and a place is `[file, line, code, function]`."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from depyf.record.records import Location
from depyf.text.short_paths import ShortPaths

Data = Dict[str, Any]
Place = Tuple[int, int, str, str]  # file, line, code, function


class PlaceTable:
    """Numbers the files of the user's program in the order in which they are first named."""

    def __init__(self, folders: Sequence[str], labels: Mapping[str, str] = {}) -> None:
        self._short = ShortPaths(folders)
        self._labels = labels  # what a reader calls files that are none: cells of notebooks
        self._numbers: Dict[str, int] = {}

    def file(self, path: str) -> int:
        """Return the number of a file."""
        return self._numbers.setdefault(path, len(self._numbers))

    def of(self, place: Optional[Location]) -> Optional[Place]:
        """Return a place; None for an unknown one."""
        return None if place is None else self.row_of(place)

    def row_of(self, place: Location) -> Place:
        """Return a place that is known."""
        return self.file(place.file), place.line, place.code, place.function

    def all_of(self, places: Iterable[Location]) -> List[Place]:
        """Return places in their order."""
        return [self.row_of(place) for place in places]

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
