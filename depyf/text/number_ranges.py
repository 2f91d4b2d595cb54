"""Numbers as a reader writes them: `3, 5-7`."""

from __future__ import annotations

from typing import Iterable, Iterator, List, Tuple

_LONGEST = 100_000  # numbers of one range that is read: what names more is not written here


def runs_of(numbers: Iterable[int]) -> List[Tuple[int, int]]:
    """Return the first and the last one of each run of numbers, which are in ascending order."""
    runs: List[Tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def in_ranges(numbers: Iterable[int], between: str = ", ") -> str:
    """Return numbers in ascending order as text: 3, 5-7."""
    return between.join([str(first) if first == last else f"{first}-{last}" for first, last in runs_of(numbers)])


def numbers_in(text: str) -> Iterator[int]:
    """Yield the numbers of `in_ranges(..., ",")`; what is no range is left out."""
    for one in text.split(",") if text else ():
        first, _, last = one.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield from range(int(first), min(int(last or first), int(first) + _LONGEST) + 1)
