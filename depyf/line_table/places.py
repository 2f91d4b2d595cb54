"""The user's lines of one graph: the calls that lead to each, and where a line of a cached text is now.

The captured graph is made anew in each run, so its lines are those of the source as it is. The texts of later stages
may come from one of torch's caches, which an earlier state of the source filled: the key of the cache is the graph, and
moving lines does not change it. A line that such a text names is found again by its function and its code.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from depyf.record.records import Location
from depyf.text.resume_names import without_line

Calls = Tuple[Location, ...]  # outermost first; the last one is the line itself


class Source(NamedTuple):
    """The user's line that something stems from, as far as it is known."""

    calls: Calls
    is_sure: bool = True  # False where the same line is also reached by other calls, which it may stem from instead
    has_moved: bool = False  # whether the text names the line under another number, that of an earlier source


class Places:
    """The lines that the nodes of one captured graph stem from.

    `is_now` is asked about lines that no node of the captured graph stems from: whether the source still has that code
    on that line.
    """

    def __init__(self, stacks: Sequence[Calls], is_now: Callable[[Location], bool]) -> None:
        self._is_now = is_now
        self._stacks: Dict[Tuple[str, int, str], List[Calls]] = {}
        self._by_code: Dict[Tuple[str, str], Set[Location]] = {}
        for calls in stacks:
            last = calls[-1]
            self._stacks.setdefault(_key(last), []).append(calls)
            self._by_code.setdefault(_code(last), set()).add(last)

    def resolve(self, named: Iterable[Location]) -> Dict[Location, Tuple[Source, ...]]:
        """Return what each line that the text of a later stage names stands for; nothing where that is not known."""
        groups: Dict[Tuple[str, str], Set[Location]] = {}
        for place in named:
            groups.setdefault(_code(place), set()).add(place)
        return {place: found for code, places in groups.items() for place, found in self._resolve(code, places)}

    def _resolve(self, code: Tuple[str, str], places: Set[Location]) -> Iterator[Tuple[Location, Tuple[Source, ...]]]:
        """Yield the sources of lines that have the same code."""
        before = _in_order(places)
        after = before
        if any(_key(place) not in self._stacks for place in places):
            candidates = _in_order(self._by_code.get(code, ()))
            if len(candidates) == len(before):  # the n-th of several lines with the same code
                after = candidates
        for place, now in zip(before, after):
            if _key(now) in self._stacks or self._is_now(now):
                stacks = self._stacks.get(_key(now), [(now,)])
                yield place, tuple([Source(calls, len(stacks) == 1, _key(now) != _key(place)) for calls in stacks])
            else:
                yield place, ()

    @staticmethod
    def choose(calls: Calls, found: Sequence[Source]) -> Optional[Source]:
        """Return which of the sources of a line is the one with these calls; the first one where none is."""
        same = [one for one in found if list(map(_code, one.calls)) == list(map(_code, calls))]
        exact = [one for one in same if list(map(_key, one.calls)) == list(map(_key, calls))]
        if exact or len(same) == 1:
            return (exact or same)[0]._replace(is_sure=True)
        return next(iter(same or found), None)


def _in_order(places: Iterable[Location]) -> List[Location]:
    return sorted(places, key=lambda place: (place.file, place.line))


def _key(place: Location) -> Tuple[str, int, str]:
    return place.file, place.line, place.code


def _code(place: Location) -> Tuple[str, str]:
    """Return what a line keeps when lines above it are added or removed."""
    return without_line(place.function), place.code
