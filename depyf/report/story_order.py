"""The story to open first, and the story that a function belongs to."""

from __future__ import annotations

from collections import Counter
from typing import List

from depyf.record.records import FunctionRecord, SessionRecord
from depyf.report.call_chains import has_library_path


def root_of(record: SessionRecord, key: str) -> FunctionRecord | None:
    """Return the function whose story has this one in it: itself, or the one that a resume function continues."""
    passed = {key}
    try:
        function = record.function(key)
        while function.resume_of is not None and function.resume_of not in passed:
            passed.add(function.resume_of)
            function = record.function(function.resume_of)
    except KeyError:
        return None
    return function


def story_of(record: SessionRecord, key: str) -> str | None:
    """Return the file of the story that has this function in it; None where there is none."""
    root = root_of(record, key)
    return None if root is None else root.full_code_file


def called_functions(record: SessionRecord) -> List[FunctionRecord]:
    """Return what the program called while something was compiled, in this context: the user's own and most first."""
    called = [one for one in record.functions if one.compiled_in_calls]
    return sorted(called, key=lambda one: (has_library_path(one.shown_file), -one.compiled_in_calls))


def stories_by_worth(record: SessionRecord) -> List[str]:
    """Return the stories, best first: those of what the program called.

    Then come other functions with a graph, of the user's, compiled most, resume functions included; those that have no
    graph, those that were not compiled at all, and single frames.
    """
    frames: Counter[str] = Counter()  # in the order in which Dynamo came to the functions
    graphs: Counter[str] = Counter()
    for frame in record.frames:
        root = root_of(record, frame.function)
        whole = frame.function if root is None else root.key
        frames[whole] += 1
        graphs[whole] += len(frame.graphs)
    place = {key: number for number, key in enumerate(frames)}
    others = [one for one in record.stories if not one.compiled_in_calls]
    others.sort(key=lambda one: place.get(one.key, len(place)))
    others.sort(
        key=lambda one: (not graphs[one.key], not frames[one.key], has_library_path(one.shown_file), -frames[one.key])
    )
    stories = [one.full_code_file for one in (*called_functions(record), *others) if one.full_code_file is not None]
    return stories + [frame.file for frame in record.frames[:1]]
