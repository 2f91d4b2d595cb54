"""The graph breaks of a summary: each cause once, with the line that causes it and the ways to it."""

from __future__ import annotations

from typing import Container, Dict, Iterable, List, NamedTuple, Sequence, Set, Tuple

from depyf.record.compile_ids import sort_key
from depyf.record.records import FrameRecord, FunctionRecord, GraphBreak, Location, SessionRecord, SkipRecord
from depyf.report.break_paths import Owners
from depyf.report.call_chains import Chain, has_library_path, place_of, reached_lines, ways_to
from depyf.report.story_order import called_functions, root_of
from depyf.report.wrapper_notes import hook_note, title_apart, title_inside

_INDENT = "    "


def distinct_breaks(record: SessionRecord) -> List[List[GraphBreak]]:
    """Return the graph breaks, those for one cause together, the one at its line first.

    The frames after a break, and recompilations, report it again, and it may be reached in several ways.  An exception
    is reported wherever a `finally`, `with` or `except` raises it once more.  What failed because of a break differs
    from frame to frame: the reason with the least of that comes first.
    """
    holders: List[FrameRecord | SkipRecord] = [*record.frames]
    holders += [skip for function in record.functions for skip in function.skips]
    every = [one for holder in sorted(holders, key=_order) for one in holder.graph_breaks]
    found: Dict[Tuple[object, str], List[GraphBreak]] = {}
    for one in every:
        place = cause_of(one)
        # Torch's last cause ends in a full stop, one that another follows does not.
        found.setdefault((place and (place.file, place.line), one.causes[0].rstrip(".")), []).append(one)
    groups = [sorted(same, key=_is_further) for same in found.values()]
    return sorted(groups, key=_is_in_library)  # the program's own first


class Cause(NamedTuple):
    """The graph breaks for one cause, the one at its line first, and the ways to that line."""

    breaks: List[GraphBreak]
    ways: List[Chain]


def causes_of_breaks(record: SessionRecord) -> List[Cause]:
    """Return the causes of graph breaks, those in the program's own lines first."""
    return [Cause(same, ways_to(record, _at_cause(same))) for same in distinct_breaks(record)]


def number_of_breaks(breaks: Sequence[Cause]) -> str:
    """Return how many graph breaks there are, and in how many ways they are reached where these are more."""
    ways = sum(max(1, len(cause.ways)) for cause in breaks)
    number = f"{len(breaks)} graph break{'s' * (len(breaks) != 1)}"
    return f"{number} (reached in {ways} ways)" if ways > len(breaks) else number


def _order(holder: FrameRecord | SkipRecord) -> Tuple[int, ...]:
    return sort_key(holder.compile_id)


def cause_of(graph_break: GraphBreak) -> Location | None:
    """Return the line that causes a break: its own, or the one that raised the exception that it passes on."""
    return graph_break.raised_before or graph_break.location


def _is_further(graph_break: GraphBreak) -> Tuple[bool, int]:
    """Return how far a break is from its cause."""
    return graph_break.raised_before is not None, len(graph_break.causes)


def _is_in_library(same: Sequence[GraphBreak]) -> bool:
    location = cause_of(same[0])
    return location is not None and has_library_path(location.file)


def break_blocks(record: SessionRecord, causes: Sequence[Cause], whole: bool = False) -> List[List[str]]:
    """Return the lines on each break; `whole`: with every way to it."""
    stories = Stories(record)
    owners = Owners(record)
    called = {one.display_name for one in called_functions(record)}
    after = _following(record, [same for same, _ in causes], owners)
    blocks: List[List[str]] = []
    advised: Dict[Tuple[str, ...], int] = {}  # hints -> the number of the break whose block lists them
    for number, (same, ways) in enumerate(causes, start=1):
        first = same[0]
        place = cause_of(first)
        lines = [f"graph break at {place_of(place)}", *function_around(place, owners, called), _INDENT + first.reason]
        lines += [_INDENT + line for line in _passed_on(same)]
        lines += [f"{_INDENT}reached in {len(ways)} ways:"] if len(ways) > 1 else []
        lines += [_INDENT + line for line in reached_lines(ways, whole)]
        lines += [_INDENT + after[number]] if number in after else []
        if advised.setdefault(first.hints, number) == number:
            lines += [f"{_INDENT}hint: {hint}" for hint in first.hints]
        elif first.hints:
            lines.append(f"{_INDENT}hints: those of {_named(causes[advised[first.hints] - 1].breaks)} above")
        story = stories.best(same)
        blocks.append(lines + ([f"{_INDENT}story: {story}"] if story else []))
    return blocks


def _named(same: Sequence[GraphBreak]) -> str:
    """Return how other blocks speak of a break: blocks have no numbers, so by its place."""
    place = cause_of(same[0])
    return "the other break" if place is None else f"the break at {place.file.rpartition('/')[2]}:{place.line}"


def function_around(place: Location | None, owners: Owners, named: Container[str]) -> List[str]:
    """Return the function that a line is in, if it is none of those named: no call on the way names a hook."""
    function = None if place is None else owners.of(place)
    is_known = function is None or function.display_name in named
    if function is None or is_known:
        return []
    return [f"{_INDENT}in {', '.join(filter(None, [title_inside(function), hook_note(function)]))}"]


def _passed_on(same: Sequence[GraphBreak]) -> List[str]:
    """Return the lines that raise an exception once more, each once."""
    places = dict.fromkeys(place_of(one.location) for one in same if one.raised_before is not None)
    return [f"raised once more at {place} (by a `finally`, `with` or `except`)" for place in places]


def _at_cause(same: Sequence[GraphBreak]) -> Sequence[GraphBreak]:
    """Return the breaks whose calls lead to the line that causes them, where there are such."""
    return [one for one in same if one.raised_before is None] or same


# ---------------------------------------------------------------- stories


class Stories:
    """The stories that show graph breaks."""

    def __init__(self, record: SessionRecord) -> None:
        self._called = [one.full_code_file for one in called_functions(record)]
        self._found: Dict[GraphBreak, Dict[str, None]] = {}  # by compilation
        for one, function in _holders(record):
            if function.full_code_file is not None:
                self._found.setdefault(one, {})[function.full_code_file] = None

    def best(self, same: Iterable[GraphBreak]) -> str | None:
        """Return the story to open for breaks of one cause: that of what the program called, if it has one of them."""
        files = dict.fromkeys(file for one in same for file in self._found.get(one, ()))
        return next((file for file in self._called if file in files), next(iter(files), None))


def _holders(record: SessionRecord) -> List[Tuple[GraphBreak, FunctionRecord]]:
    """Return each break with the function that was compiled up to it, whole."""
    keys = [(one, frame.function) for frame in record.frames for one in frame.graph_breaks]
    keys += [(one, function.key) for function in record.skipped for skip in function.skips for one in skip.graph_breaks]
    found = [(one, root_of(record, key)) for one, key in keys]
    return [(one, function) for one, function in found if function is not None]


# ---------------------------------------------------------------- breaks that follow from others


def _following(record: SessionRecord, breaks: Sequence[Sequence[GraphBreak]], owners: Owners) -> Dict[int, str]:
    """Return, by number, a line on each break that is there only because of another one.

    Tracing had gone past its line as part of a caller, and then broke: Dynamo came to the function on its own.
    """
    if len(breaks) < 2:
        return {}
    holders: Dict[GraphBreak, List[FunctionRecord]] = {}
    for one, function in _holders(record):
        holders.setdefault(one, []).append(function)
    passed: Dict[str, Dict[int, int]] = {}  # key of a function -> number of a break -> the last line that led there
    for number, same in enumerate(breaks, start=1):
        compiled: Dict[Location, Set[str]] = {}  # a call on the way -> the functions compiled up to the break, by key
        for one in same:
            for call in one.stack:
                compiled.setdefault(call, set()).update(function.key for function in holders.get(one, ()))
        for call, keys in compiled.items():
            owner = owners.of(call)
            if owner is not None and keys - {owner.key}:  # as part of a caller
                lines = passed.setdefault(owner.key, {})
                lines[number] = max(call.line, lines.get(number, 0))
    found: Dict[int, str] = {}
    for number, same in enumerate(breaks, start=1):
        held = {function.key: function for one in same for function in holders.get(one, ())}
        places = [one.location for one in same if one.location is not None]
        if len(held) != 1 or not places:
            continue
        ((key, function),) = held.items()
        if any(owners.of(place) is not record.function(key) for place in places):
            continue
        last = max(place.line for place in places)
        cause = next((other for other, line in passed.get(key, {}).items() if other != number and line > last), None)
        if cause is not None:
            title = title_apart(record, function)
            named = _named(breaks[cause - 1])
            found[number] = f"follows from {named}, after which Dynamo comes to {title} on its own"
    return found
