"""What sets the versions of one function apart: a table of the values that their guards want different.

The columns are values (`depyf.record.tested_values`), those that a person would act on first: values that versions pin
to different things, then those that only some of them test.  There are as many as it takes that no two versions have
the same row.  A version that needs one certain value (`LIMITS[0] == 3.5`) has it in its row even so: the next call with
another one is compiled again.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple, Sequence

from depyf.record.records import FrameRecord
from depyf.record.tested_values import PLAIN, Order, Tested, upper_bound, values_tested
from depyf.report.guard_function import asked_by
from depyf.report.shortened_records import ShortPaths
from depyf.text import python_source

_MOST = 4  # columns, unless it takes more until no two versions are the same
_MOST_CONDITIONS = 6  # of one version, where single values are added to the columns
_FEW = 2  # conditions of one version that are no columns, and shown; more are counted
_MOST_BOUNDS = 4  # whose lines are named

_ANY = re.compile(r": any \w+$")


class Column(NamedTuple):
    """A value, with what each version wants of it."""

    about: str
    cells: tuple[str, ...]  # one for each version; empty where it does not test the value
    is_one_value: tuple[bool, ...]  # whether only one value of an argument, an attribute or a global fits the version
    name: str  # the last one in it
    is_pinned: bool  # whether two versions want different things of it, and not only one of them something
    order: Order


def version_table(frames: Sequence[FrameRecord], name: str, paths: ShortPaths | None = None) -> list[str]:
    """Return a table of the versions of the function `name`, as lines of a heading; empty for a single version."""
    guarded = [frame for frame in frames if frame.guards]
    if len(guarded) < 2:
        return []
    columns = differing_values(guarded)
    if not columns:
        return [f"The {len(guarded)} versions of {name} have the same guards: beside each is why it was compiled."]
    chosen = _chosen(columns, len(guarded))
    lines = [f"What sets the {len(guarded)} versions of {name} apart; all their other guards are the same:"]
    margin = max(len(frame.compile_id) for frame in guarded) + 4
    for number, frame in enumerate(guarded):
        pieces = [column.cells[number] for column in chosen if column.cells[number]]
        pieces += _beside(number, chosen, columns)
        pieces += _single_values(number, pieces, chosen, columns)
        own = [column.cells[number] for column in columns if column.cells[number]]
        rest = [cell for cell in own if cell not in pieces]
        first = next(other for other in range(number + 1) if _is_same(other, number, chosen))
        pieces += [f"(as {guarded[first].compile_id}: see why it was compiled)"] * (first < number)
        pieces += rest if len(rest) <= _FEW else [f"{len(rest)} more"]
        keys = {column.cells[number]: _keys(number, column, columns) for column in chosen}
        lines += _wrapped(f"  {frame.compile_id}: ".ljust(margin), [piece + keys.get(piece, "") for piece in pieces])
    return lines + _bounds(guarded, paths or ShortPaths())


def _bounds(frames: Sequence[FrameRecord], paths: ShortPaths) -> list[str]:
    """Return the lines that asked for upper bounds of sizes: nothing in the program may name the number."""
    found: dict[str, None] = {}
    for frame in frames:
        for guard in frame.guards:
            bound = upper_bound(guard.test) if guard.location is not None else ""
            if bound:
                line = asked_by(paths.location(guard.location))
                asked = f"is torch's: it compared the size when it traced {line}" if guard.from_torch else ""
                found[f"  {bound} {asked or f'is asked for by {line}'}"] = None
    return list(found)[:_MOST_BOUNDS]


def differing_values(frames: Sequence[FrameRecord]) -> list[Column]:
    """Return the values in which the guards of versions differ, likely causes first."""
    return _columns([values_tested([guard.test for guard in frame.guards]) for frame in frames])


def _columns(tested: Sequence[Mapping[str, Tested]]) -> list[Column]:
    found: list[Column] = []
    for about in dict.fromkeys(about for one in tested for about in one):
        tests = [one[about] for one in tested if about in one]
        if len(tests) == len(tested) and all(test == tests[0] for test in tests):
            continue
        cells = tuple([_cell(one[about], tests) if about in one else "" for one in tested])
        wanted = {cell for cell in cells if cell and not _ANY.search(cell)}
        is_one_value = tuple([about in one and _fits_one_value(one[about]) for one in tested])
        order = min(test.order for test in tests)
        found.append(Column(about, cells, is_one_value, tests[0].name, len(wanted) > 1, order))
    return sorted(found, key=lambda column: (not column.is_pinned, column.order))


def _fits_one_value(test: Tested) -> bool:
    """Return whether only one value fits, of what a program may change: not of `torch.bool == torch.bool`."""
    return test.kind == PLAIN and test.literal not in ("", test.about)


def _cell(test: Tested, others: Sequence[Tested]) -> str:
    """Return what a version wants of a value; where others want one of its class, any of that class will do."""
    if not test.literal and any(one.literal and one.class_name == test.class_name for one in others):
        return f"{test.about}: any {test.class_name.rpartition('.')[2]}"
    return test.condition


def _chosen(columns: Sequence[Column], versions: int) -> list[Column]:
    """Return the columns to show: the first few, and what else it takes until no two versions are the same."""
    groups = dict.fromkeys(range(versions), 0)  # versions that are the same so far have the same number
    chosen: list[Column] = []
    for column in columns:
        finer = _split(groups, column)
        is_new = len(set(finer.values())) > len(set(groups.values()))
        if is_new or (len(chosen) < _MOST and column.is_pinned and not _is_like(column, chosen)):
            chosen.append(column)
            groups = finer
    return chosen


def _split(groups: Dict[int, int], column: Column) -> Dict[int, int]:
    """Return the groups of versions that are the same with one column more."""
    numbers: Dict[tuple[int, str], int] = {}
    return {number: numbers.setdefault((group, column.cells[number]), len(numbers)) for number, group in groups.items()}


def _is_like(column: Column, chosen: Sequence[Column]) -> bool:
    """Return whether a column splits the versions as one does that is chosen, and is about an attribute of one name."""
    return any(one.name == column.name and _pattern(one) == _pattern(column) for one in chosen)


def _pattern(column: Column) -> Dict[int, int]:
    """Return which versions want the same."""
    return _split(dict.fromkeys(range(len(column.cells)), 0), column)


def _is_same(one: int, other: int, columns: Sequence[Column]) -> bool:
    return all(column.cells[one] == column.cells[other] for column in columns)


def _beside(number: int, chosen: Sequence[Column], columns: Sequence[Column]) -> list[str]:
    """Return what else sets a version apart from those that have all that is shown of it.

    That is a condition of its own, or a value of theirs that it does not test.
    """
    found: dict[str, None] = {}
    shown = [column for column in chosen if column.cells[number]]
    for other in range(len(chosen[0].cells)):
        if _is_same(number, other, shown) and not _is_same(number, other, chosen):
            differing = [column for column in columns if column.cells[number] != column.cells[other]]
            own = [column.cells[number] for column in differing if column.cells[number]]
            found[own[0] if own else f"{differing[0].about} not tested"] = None
    return list(found)


_LENGTH = re.compile(r"len\(([^()]+)\)$")
_MOST_KEYS = 3


def _keys(number: int, length: Column, columns: Sequence[Column]) -> str:
    """Return, behind the length of a dictionary, the keys whose values this version tests and not all others do."""
    name = _LENGTH.match(length.about)
    if name is None:
        return ""
    of_key = re.compile(rf"{re.escape(name[1])}\[('[^'\\\n]*')\]$")
    found = [(of_key.match(column.about), column) for column in columns if column.cells[number]]
    keys = [match[1] for match, column in found if match is not None and not all(column.cells)]
    few = ", ".join(keys[:_MOST_KEYS]) + ", ..." * (len(keys) > _MOST_KEYS)
    return f" (with {few})" if keys else ""


def _single_values(number: int, shown: Sequence[str], chosen: Sequence[Column], columns: Sequence[Column]) -> list[str]:
    """Return the first conditions of a version, beside those that are shown, that only one value fits."""
    found: list[Column] = []
    most = max(1, _MOST_CONDITIONS - len(shown))
    for column in columns:
        is_new = column.is_one_value[number] and column.cells[number] not in shown
        if is_new and len(found) < most and not _is_like(column, [*chosen, *found]):
            found.append(column)
    return [column.cells[number] for column in found]


def _wrapped(start: str, pieces: Sequence[str]) -> list[str]:
    """Return the conditions after `start`, broken between them where the line is full."""
    lines = [start + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(" and ") + len(piece) <= python_source.WIDTH - len("# "):
            lines[-1] += " and " + piece
        else:
            lines.append(" " * len(start) + "and " + piece)
    return lines
