"""Stories that need not be written again when a later context adds to the record of a folder."""

from __future__ import annotations

from dataclasses import replace
from typing import FrozenSet

from depyf.record.records import FrameRecord, FunctionRecord, SessionRecord
from depyf.report.full_code import MOST_STORIES


class UnchangedStories:
    """Compares the records that two contexts wrote to one folder, story by story."""

    def __init__(self, before: SessionRecord, after: SessionRecord) -> None:
        self._before = before
        self._after = after
        written = {function.key for function in before.stories}
        self._new_names: FrozenSet[str] = frozenset(one.name for one in after.stories if one.key not in written)
        self._may_be = (
            before.versions == after.versions
            and before.import_folders == after.import_folders
            and bool(before.files) == bool(after.files)
            and min(len(before.stories), len(after.stories)) > MOST_STORIES  # else each story lists the others
        )

    def has(self, key: str) -> bool:
        """Return whether the story of a function is the same for certain: all that it is made of is."""
        before, after = self._before, self._after
        waiting, passed = [key] if self._may_be else [], set()
        while waiting:
            key = waiting.pop()
            if key in passed:
                continue
            passed.add(key)
            try:
                if not _is_same(after.function(key), before.function(key)):
                    return False
            except KeyError:
                return False
            frames = after.frames_of(key)
            if frames != before.frames_of(key) or after.resumes_of(key) != before.resumes_of(key):
                return False
            if not all(map(self._has_version, frames)):
                return False
            waiting += [resume.key for resume in after.resumes_of(key)]
            waiting += [call.function for frame in frames for call in frame.resumes if call.function is not None]
        return self._may_be

    def _has_version(self, frame: FrameRecord) -> bool:
        """Return whether the graphs of a version are the same, and no new story is one that its graph breaks name."""
        if any(self._after.graph(name) != self._before.graph(name) for name in frame.graphs):
            return False
        calls = {call.function for graph_break in frame.graph_breaks for call in graph_break.stack}
        return not calls & self._new_names


def _is_same(function: FunctionRecord, before: FunctionRecord) -> bool:
    """Return whether a story shows both records alike: numbers of calls are in the summary and the page alone."""
    if function.skips:
        return False
    now, earlier = before.compiled_in_calls, before.compiled_in_earlier_calls
    return function is before or replace(function, compiled_in_calls=now, compiled_in_earlier_calls=earlier) == before
