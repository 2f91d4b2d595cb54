"""The user's source, as far as a log has it: single lines, in stacks and in the comments of graphs.

A log holds no source files. Of a function that Dynamo compiled the lines are put together that are known; the others
are a comment, so that each line keeps its number.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Sequence, Tuple

from depyf.record.records import Location
from depyf.torch_hooks.internals.stable_names import resumed_name

NOT_IN_LOG = "# (not in the log)"
_LARGEST_GAP = 30  # lines: what is further away is of another function of that name
_MOST_LINES = 2_000  # of a function
_MOST_KNOWN = 200_000
_DEFINITION = re.compile(r"(?:async )?def |class |@")
_OF_TORCH = re.compile(r"(?:^|[\\/])(?:site-packages|dist-packages)[\\/](?:torch|functorch|torchgen)[\\/]")
_INSTALLED = re.compile(r".*[\\/](?:site-packages|dist-packages|lib[\\/]python3\.\d+)(?=[\\/])")


def is_of_torch(file: str) -> bool:
    """Return whether a file of the machine that wrote the log is one of torch's own."""
    return _OF_TORCH.search(file) is not None


class KnownLines:
    """The lines of the program that a log has shown so far."""

    def __init__(self) -> None:
        self._lines: Dict[str, Dict[int, Tuple[str, str]]] = {}  # file -> line -> function, code
        self._number = 0

    def add(self, places: Iterable[Location]) -> None:
        """Remember lines; a line that has its text already keeps it."""
        for place in places:
            of_file = self._lines.setdefault(place.file, {})
            if place.code and 0 < place.line < 1 << 31 and place.line not in of_file and self._number < _MOST_KNOWN:
                of_file[place.line] = (resumed_name(place.function), place.code)
                self._number += 1

    def code(self, file: str, line: int) -> str:
        """Return the text of a line; empty where it is not known."""
        return self._lines.get(file, {}).get(line, ("", ""))[1]

    def source(self, file: str, function: str, first_line: int, other_starts: Sequence[int]) -> str:
        """Return the text of a function that begins on a line, from there to the last line that is known of it."""
        of_file = self._lines.get(file, {})
        end = min([start for start in other_starts if start > first_line], default=first_line + _MOST_LINES)
        own = sorted(line for line, (name, _) in of_file.items() if name == function and first_line <= line < end)
        last = first_line
        for line in own:
            if line - last > _LARGEST_GAP or (line > first_line and _DEFINITION.match(of_file[line][1])):
                break
            last = line
        if last == first_line and not own:
            return ""
        known = set(own)
        lines = [of_file[line][1] if line in known else NOT_IN_LOG for line in range(first_line, last + 1)]
        return "\n".join(lines) + "\n"

    def full_name(self, shortened: str) -> str:
        """Return the one file of the log whose path ends like this; the name itself where that is not clear.

        Torch cuts the beginning that a path shares with its own folder, in the middle of a word if need be.
        """
        if shortened.startswith(("/", "<")) or not shortened:
            return shortened
        name = shortened.replace("\\", "/").rpartition("/")[2]
        ends = [file for file in self._lines if file.endswith(shortened)]
        found = [file for file in ends if file.replace("\\", "/").rpartition("/")[2] == name]
        return found[0] if len(found) == 1 else shortened

    def import_folders(self, program: Sequence[str]) -> Tuple[str, ...]:
        """Return the folder of the program, whose files are given, then those that Python imported the others from."""
        own = [file.replace("\\", "/").rpartition("/")[0] for file in program if not _INSTALLED.match(file)]
        installed: List[str] = []
        for file in self._lines:
            found = _INSTALLED.match(file)
            if found is not None:
                installed.append(found.group())
        return tuple(dict.fromkeys([*own[:1], *installed]))
