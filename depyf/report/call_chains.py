"""How a line was reached: the calls from the function that was compiled down to it, for a reader."""

from __future__ import annotations

import itertools
import os
import re
from typing import Callable, Container, Dict, Iterable, List, Sequence, Set, Tuple

from depyf.record.records import FailedGuard, FunctionRecord, GraphBreak, Location, SessionRecord
from depyf.text.short_paths import ShortPaths

_MOST_CALLS = 6  # of one way
_HANDED_ON = re.compile(r"\(\s*(?:self,\s*)?\*\w+(?:,\s*\*\*\w+)?\s*\)")  # a decorator calls what it was put around
_MOST_WAYS = 5
_LIBRARY = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python3\.\d+)[\\/]|^<frozen ")
# Files that lead a reader nowhere: Python's own, such as contextlib, and transformed code whose line is not known.
_NOWHERE = re.compile(
    r"[\\/]lib[\\/]python3\.\d+[\\/](?!(?:site|dist)-packages[\\/])|^<frozen |\b__transformed_code_\d"
)

_NAME = re.compile(r"[^\W\d]\w*")

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
    return _calls_from(record.function_names, stack, place)


def _calls_from(names: Container[Tuple[str, str]], stack: Sequence[Location], place: Location | None) -> Chain:
    calls = list(stack)
    if place is not None and calls and (calls[-1].file, calls[-1].line) == (place.file, place.line):
        calls.pop()
    first = next((number for number, call in enumerate(calls) if (call.file, call.function) in names), len(calls))
    chain = [call for call in calls[first:] if _NOWHERE.search(call.file) is None]
    chain = [call for call, after in zip(chain, [*chain[1:], place]) if after is None or not _is_same_line(call, after)]
    is_own = place is not None and not has_library_path(place.file)
    if (chain or not is_own) and all(has_library_path(call.file) for call in chain):
        above = [call for call in calls[:first] if _NOWHERE.search(call.file) is None]
        chain = [call for call in above if not has_library_path(call.file)][-1:] + chain
    return tuple(chain)


def line_of(failed: FailedGuard) -> Location | None:
    """Return the line that explains a guard to a reader; None where none does.

    A library may touch a tensor first under a name of its own: the call that hands the tensor over is the one to read.
    """
    if failed.location is None or _explains(failed, failed.location):
        return failed.location
    names = _names_in(failed) - {"self"}
    return next((call for call in reversed(failed.stack) if not names.isdisjoint(_NAME.findall(call.code))), None)


def _names_in(failed: FailedGuard) -> Set[str]:
    return set(_NAME.findall(failed.about)) - {"size", "stride", "args", "kwargs"}


def _explains(failed: FailedGuard, place: Location) -> bool:
    """Return whether the line of a guard is its reason: not where a library happens to touch a tensor first."""
    if not failed.first_used or (os.path.isabs(place.file) and not has_library_path(place.file)):
        return True
    names = _names_in(failed)
    is_of_torch = place.file.startswith("torch/") or "/torch/" in place.file  # an operation on it
    is_in_function = not failed.stack  # the one that was compiled, of a library
    return is_of_torch or is_in_function or not names or not names.isdisjoint(_NAME.findall(place.code))


def _is_same_line(call: Location, after: Location) -> bool:
    """Return whether a call leads to its own line: a comprehension."""
    return (call.file, call.line) == (after.file, after.line)


def ways_to(record: SessionRecord, breaks: Iterable[GraphBreak]) -> List[Chain]:
    """Return each way to a line on which graphs broke, the first one first.

    A stack lacks calls of transformed code whose line is not known: it is no other way where another stack has them.
    """
    found: Dict[Tuple[Tuple[str, int], ...], Chain] = {}
    distinct = list(dict.fromkeys(breaks))
    lines = {one: tuple([(call.file, call.line) for call in one.stack]) for one in distinct}
    for one in distinct:
        if any(_lacks_calls(lines[one], other) for other in lines.values()):
            continue
        chain = _calls_from(record.function_names, one.stack, one.location)
        if chain:
            found.setdefault(tuple((call.file, call.line) for call in chain), chain)
    return list(found.values())


def _lacks_calls(stack: Sequence[Tuple[str, int]], other: Sequence[Tuple[str, int]]) -> bool:
    """Return whether a stack is another one without some of its inner calls."""
    if len(stack) < 2 or len(stack) >= len(other) or (stack[0], stack[-1]) != (other[0], other[-1]):
        return False
    rest = iter(other)
    return all(call in rest for call in stack)


def reached_lines(ways: Sequence[Chain], whole: bool = False) -> List[str]:
    """Return a line for each call of each way; `whole`: of all of them, and not of the first few.

    Ways that differ in their first call alone are one way from there on.
    """
    lines: List[str] = []
    shown = ways if whole else ways[:_MOST_WAYS]
    texts = [few_calls(chain, _MOST_CALLS, place_of) for chain in shown]
    for _, same in itertools.groupby(texts, lambda calls: calls[1:] or calls):
        alike = list(same)
        lines += [f"{'     or from ' if number else 'reached from '}{one[0]}" for number, one in enumerate(alike)]
        lines += [f"        then {call}" for call in alike[0][1:]]
    rest = len(ways) - len(shown)
    return [*lines, f"... and in {rest} more way{'s' * (rest > 1)}"] if rest else lines


def few_calls(chain: Sequence[Location], most: int, text_of: Callable[[Location], str]) -> List[str]:
    """Return the calls as texts, in a long chain some of them as numbers.

    Those that only hand their arguments on, as decorators do, are left out first, then those in the middle; never the
    first or the last.
    """
    if len(chain) <= most:
        return list(map(text_of, chain))
    inner = range(1, len(chain) - 1)
    left = [0, *[number for number in inner if not _HANDED_ON.search(chain[number].code)], len(chain) - 1]
    if len(left) > most:
        left[most // 2 : -(most // 2)] = []
    texts = [text_of(chain[0])]
    for before, number in zip(left, left[1:]):
        missing = number - before - 1
        if missing > 1:
            texts.append(f"{missing} more calls")
        elif missing:
            texts.append(text_of(chain[before + 1]))
        texts.append(text_of(chain[number]))
    return texts


def place_of(location: Location | None) -> str:
    """Return `file:line: code`."""
    if location is None:
        return "an unknown place"
    code = f": {location.code}" if location.code else ""
    return f"{shown_path(location.file)}:{location.line}{code}"


def place_of_function(function: FunctionRecord) -> str:
    """Return `file:line` of what a person would call the function."""
    return f"{shown_path(function.shown_file)}:{function.shown_line}"


def shown_path(file: str) -> str:
    """Return the path as a summary shows it: whole for the program's own files, as imported for a library's."""
    return ShortPaths().of(file) if has_library_path(file) else file
