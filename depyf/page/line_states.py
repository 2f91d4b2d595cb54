"""Line states: what became of each line of a function in one compiled version of it.

A version is followed into the resume functions that it hands over to, in all their versions: together they are the
function.  A line may have several states. It has none where nothing that was recorded stems from it and Dynamo came to
it all the same: it was evaluated while tracing.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from depyf.record.guard_list import locations_of
from depyf.record.records import FrameRecord, FunctionRecord, GraphBreak, Location, SessionRecord
from depyf.record.vocabulary import BY_RESUME, FROM_FILE, FROM_LOG
from depyf.text.number_ranges import numbers_in


class ShownSource(NamedTuple):
    """The text of a function as its view shows it."""

    file: str
    first_line: int
    text: str
    origin: str  # as in FunctionRecord.source_origin

    @property
    def lines(self) -> range:
        """The lines of the file that it is; none where the text is not from a file."""
        if self.origin not in (FROM_FILE, FROM_LOG) or not self.text.strip():
            return range(0)
        return range(self.first_line, self.first_line + len(self.text.rstrip("\n").split("\n")))


def shown_source(function: FunctionRecord) -> ShownSource:
    """Return the text of the function that the user calls, where Dynamo compiled a wrapper around it, else its own."""
    original = function.original
    if original is not None and original.source:
        return ShownSource(original.file, original.first_line, original.source, original.source_origin)
    return ShownSource(function.file, function.first_line, function.source, function.source_origin)


class LineState(NamedTuple):
    """What became of one line."""

    graphs: Tuple[str, ...] = ()  # those that have operations of it
    broke: bool = False  # a graph broke on it, or in what it calls
    in_python: bool = False  # a line of transformed code stems from it: Python runs it
    asked: bool = False  # it asked for a guard: Dynamo evaluated it while tracing
    unreached: bool = False  # Dynamo did not come to it


def line_states(record: SessionRecord, source: ShownSource, frame: FrameRecord) -> Dict[int, LineState]:
    """Return the states of the lines of a function in one version; lines without a state are left out."""
    found: Dict[int, LineState] = {}
    for one in frames_behind(record, frame):
        for name in one.graphs:
            graph = record.graph(name)
            for line in _lines((node.calls for node in graph.sources), source) if graph is not None else ():
                state = found.get(line, LineState())
                if name not in state.graphs:
                    found[line] = state._replace(graphs=(*state.graphs, name))
        for line in _lines(([place] for place in _broken(one.graph_breaks)), source):
            found[line] = found.get(line, LineState())._replace(broke=True)
        for link in one.line_links:
            if link.found_by != BY_RESUME and link.user_file == source.file and link.user_line in source.lines:
                found[link.user_line] = found.get(link.user_line, LineState())._replace(in_python=True)
        for line in numbers_in(one.unreached):
            if line in source.lines and not any(found.get(line, LineState())):
                found[line] = LineState(unreached=True)
        places = {id(place): place for place in locations_of(one.guards)}  # many guards have the same
        for line in _lines([places.values()], source):
            found[line] = found.get(line, LineState())._replace(asked=True)
    return {line: _plain(state) for line, state in found.items()}


def _plain(state: LineState) -> LineState:
    """Return a state without the mark of a line that one frame did not reach, where another one has something of it."""
    return state._replace(unreached=False) if any(state[:-1]) else state


def frames_behind(record: SessionRecord, frame: FrameRecord) -> List[FrameRecord]:
    """Return a version and those of all resume functions that it hands over to, each once."""
    found: Dict[str, FrameRecord] = {}
    work = [frame]
    while work:
        one = work.pop()
        if one.file not in found:
            found[one.file] = one
            for resume in reversed(one.resumes):
                work.extend(reversed(record.frames_of(resume.function or "")))
    return list(found.values())


def _broken(breaks: Sequence[GraphBreak]) -> Iterator[Location]:
    for one in breaks:
        yield from one.way
        if one.location is not None:
            yield one.location


def _lines(calls: object, source: ShownSource) -> Iterator[int]:
    lines = source.lines
    for places in calls:  # type: ignore[attr-defined]
        for place in places:
            if place.line in lines and place.file == source.file:
                yield place.line
