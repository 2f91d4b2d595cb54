"""The functions of a trace log: those that Dynamo started to compile, by the stacks of its `dynamo_start` events."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Tuple

from depyf.record.records import FrameRecord, FunctionRecord, GraphBreak, Location, ResumeCall
from depyf.record.vocabulary import FROM_LOG, MISSING
from depyf.torch_hooks.frames.compilations import CodePlace
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION, resumed_name
from depyf.torch_hooks.trace_logs.log_sources import KnownLines


class LogFunctions:
    """The functions of a log: those that Dynamo started on."""

    def __init__(self, starts: Dict[CodePlace, List[Location | None]], lines: KnownLines) -> None:
        self._starts, self._lines = starts, lines
        self._keys: Dict[CodePlace, str] = {}
        numbers: Dict[str, int] = {}
        for place in starts:
            number = numbers.get(place.name, 0)
            numbers[place.name] = number + 1
            self._keys[place] = f"{place.name}_{number}"

    def key(self, place: CodePlace) -> str:
        """Return the key of a function."""
        return self._keys[place]

    def records(self, skips: Dict[str, List[Any]]) -> Tuple[FunctionRecord, ...]:
        """Return the records, with why some were not compiled."""
        return tuple([self._record(place, tuple(skips.get(self._keys[place], ()))) for place in self._starts])

    def linked(self, frames: List[FrameRecord]) -> List[FrameRecord]:
        """Return the frames with the resume functions at the lines of their graph breaks."""
        places = {key: place for place, key in self._keys.items()}
        found = []
        for frame in frames:
            ended = {(place.file, place.line) for one in frame.graph_breaks for place in _end_of(one)}
            root = self._root(places[frame.function])
            calls = [
                ResumeCall(place.name, key)
                for place, key in self._keys.items()
                if _is_resume(place) and self._root(place) == root and (place.file, place.first_line) in ended
            ]
            found.append(dataclasses.replace(frame, resumes=tuple(calls)))
        return found

    def _record(self, place: CodePlace, skips: Tuple[Any, ...]) -> FunctionRecord:
        root = self._root(place)
        starts = [one.first_line for one in self._starts if one.file == place.file and not _is_resume(one)]
        source = self._lines.source(root.file, root.name, root.first_line, starts) if root == place else ""
        called = [line for line in self._starts[place] if line is not None]
        return FunctionRecord(
            key=self._keys[place],
            name=place.name,
            qualified_name=place.name,
            file=place.file,
            first_line=place.first_line,
            source=source,
            source_origin=FROM_LOG if source else MISSING,
            resume_of=self._keys[root] if root != place else None,
            resume_names=(place.name,) if root != place else (),
            skips=skips,
            title=place.name,
            compiled_in_calls=len(self._starts[place]) if root == place else 0,
            called_at=tuple(dict.fromkeys(called))[:4] if root == place else (),
        )

    def _root(self, place: CodePlace) -> CodePlace:
        """Return the function that a resume function is the rest of: the one of that name that begins before it."""
        if not _is_resume(place):
            return place
        name = resumed_name(place.name)
        before = [
            one
            for one in self._starts
            if one.file == place.file and one.name == name and one.first_line <= place.first_line
        ]
        return max(before, key=lambda one: one.first_line, default=place)


def _is_resume(place: CodePlace) -> bool:
    return RESUME_FUNCTION.match(place.name) is not None


def _end_of(one: GraphBreak) -> List[Location]:
    return [*one.stack, *([one.location] if one.location is not None else [])]
