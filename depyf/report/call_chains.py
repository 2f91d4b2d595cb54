"""How a line was reached: the calls from the function that was compiled down to it, for a reader."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Sequence, Tuple

from depyf.record.records import GraphBreak, Location, SessionRecord
from depyf.text.short_paths import ShortPaths

_MOST_CALLS = 6  # of one way
_MOST_WAYS = 5
_LIBRARY = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python3\.\d+)[\\/]|^<frozen ")
# Files that lead a reader nowhere: Python's own, such as contextlib, and transformed code whose line is not known.
_NOWHERE = re.compile(
    r"[\\/]lib[\\/]python3\.\d+[\\/](?!(?:site|dist)-packages[\\/])|^<frozen |\b__transformed_code_\d"
)

Chain = Tuple[Location, ...]


def has_library_path(file: str) -> bool:
    """Return whether the file is, by its path alone, one of Python's own or of an installed package."""
    return _LIBRARY.search(file) is not None


def is_own(file: str) -> bool:
    """Return whether a file is one of the program's that a person can open."""
    return not has_library_path(file) and not file.startswith("<")


def first_own_line(record: SessionRecord, compile_id: str) -> Location | None:
    """Return the first line of the program's that the graph of a version stems from."""
    sources = [source for graph in record.graphs if graph.compile_id == compile_id for source in graph.sources]
    return next((call for source in sources for call in source.calls if is_own(call.file)), None)


def calls_to(record: SessionRecord, stack: Sequence[Location], place: Location | None) -> Chain:
    """Return the calls that led from a compiled function to `place`, outermost first, `place` itself aside.

    Where all of them are in libraries, the line of the program that called the first comes before.
    """
    calls = list(stack)
    if place is not None and calls and (calls[-1].file, calls[-1].line) == (place.file, place.line):
        calls.pop()
    names = {(function.file, function.name) for function in record.functions}
    first = next((number for number, call in enumerate(calls) if (call.file, call.function) in names), len(calls))
    chain = [call for call in calls[first:] if _NOWHERE.search(call.file) is None]
    chain = [call for call, after in zip(chain, [*chain[1:], place]) if after is None or not _is_same_line(call, after)]
    is_own = place is not None and not has_library_path(place.file)
    if not is_own and all(has_library_path(call.file) for call in chain):
        above = [call for call in calls[:first] if _NOWHERE.search(call.file) is None]
        chain = [call for call in above if not has_library_path(call.file)][-1:] + chain
    return tuple(chain)


def _is_same_line(call: Location, after: Location) -> bool:
    """Return whether a call leads to its own line: a comprehension."""
    return (call.file, call.line) == (after.file, after.line)


def ways_to(record: SessionRecord, breaks: Iterable[GraphBreak]) -> List[Chain]:
    """Return each way to a line on which graphs broke, the first one first."""
    found: Dict[Tuple[Tuple[str, int], ...], Chain] = {}
    for one in breaks:
        chain = calls_to(record, one.stack, one.location)
        if chain:
            found.setdefault(tuple((call.file, call.line) for call in chain), chain)
    return list(found.values())


def reached_lines(ways: Sequence[Chain]) -> List[str]:
    """Return a line for each call of each way."""
    lines: List[str] = []
    for chain in ways[:_MOST_WAYS]:
        start = "reached from "
        for call in _few(chain):
            lines.append(f"{start}{call}")
            start = "        then "
    if len(ways) > _MOST_WAYS:
        lines.append(f"... and in {len(ways) - _MOST_WAYS} more ways")
    return lines


def _few(chain: Chain) -> List[str]:
    """Return the calls as texts, those in the middle of a long chain as a number."""
    texts = list(map(place_of, chain))
    if len(texts) > _MOST_CALLS:
        kept = _MOST_CALLS // 2
        texts[kept:-kept] = [f"{len(texts) - 2 * kept} more calls"]
    return texts


def place_of(location: Location | None) -> str:
    """Return `file:line: code`."""
    if location is None:
        return "an unknown place"
    code = f": {location.code}" if location.code else ""
    return f"{shown_path(location.file)}:{location.line}{code}"


def shown_path(file: str) -> str:
    """Return the path as a summary shows it: whole for the program's own files, as imported for a library's."""
    return ShortPaths().of(file) if has_library_path(file) else file
