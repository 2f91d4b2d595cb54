"""The recompiles of a summary: each cause once, with the versions that did not fit and the functions that it reached.

A sequence that is longer makes Dynamo compile each function again that the new size comes to.  That is one cause: the
function that Dynamo came to first has a block, the others a line in it.
"""

from __future__ import annotations

import itertools
import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

from depyf.record.compile_ids import sort_key
from depyf.record.records import FailedGuard, FrameRecord, FunctionRecord, Location, SessionRecord
from depyf.record.vocabulary import RECOMPILE_LIMIT
from depyf.report.call_chains import first_own_line, is_own, line_of, place_of, place_of_function
from depyf.report.call_signature import passed_names
from depyf.report.generated_names import AT_THE_BREAK
from depyf.report.guard_function import OF_SIZES
from depyf.report.story_order import story_of
from depyf.report.wrapper_notes import title_of

_MOST_REASONS = 3  # of one recompile
_MOST_EACH = 3  # recompiles of one function that are listed one by one
_MOST_OTHERS = 3  # functions that were compiled again for the same change, on a terminal
_INDENT = "    "

_SPREADING = re.compile(r"\.(?:(size|stride)\(\d+\)|dim\(\)|dtype|device|requires_grad)$")
_LAST_NAMES = re.compile(r"[^\W\d]\w*(?:\.(?:type|length|identity))?$")


class _Again(NamedTuple):
    """A function that was compiled again, with all its versions."""

    function: FunctionRecord
    frames: Sequence[FrameRecord]

    @property
    def failed(self) -> List[FailedGuard]:
        return [one for frame in self.frames for one in frame.failed_guards]


def recompile_blocks(record: SessionRecord, whole: bool) -> List[List[str]]:
    """Return a block for each cause of recompiles, the one of the most often compiled function first."""
    again = [_Again(one, record.frames_of(one.key)) for one in record.functions]
    groups = sorted(_by_change([one for one in again if one.failed]), key=lambda same: -len(same[0].frames))
    return [
        [*_block(record, one[0], whole), *_others(record, one, whole), *_unnamed(one), *_story(record, one[0])]
        for one in groups
    ]


# ---------------------------------------------------------------- functions that one change reaches


def _by_change(again: Sequence[_Again]) -> List[List[_Again]]:
    """Return the functions, those together that were compiled again for the same changes, in Dynamo's order.

    What the program calls itself is never put with another function: the call of that is another line.
    """
    groups: List[List[_Again]] = []
    known: Dict[Tuple[object, ...], List[List[_Again]]] = {}  # changes -> groups with these
    for one in sorted(again, key=lambda one: sort_key(one.frames[0].compile_id)):
        alike = known.setdefault(_changes(one), [])
        fitting = [same for same in alike if _is_reached(one.function, same[0].function)]
        if fitting:
            fitting[-1].append(one)  # the last one before it: it was compiled in a call of that
        else:
            alike.append([one])
            groups.append(alike[-1])
    return groups


def _is_reached(function: FunctionRecord, first: FunctionRecord) -> bool:
    """Return whether the program does not call a function itself, or only by way of the first one, its decorator."""
    return not function.compiled_in_calls or function.display_name == first.display_name


def _changes(again: _Again) -> Tuple[object, ...]:
    """Return what changed each time: the same for functions that one size, dtype, argument or switch reaches."""
    return tuple([tuple([_change(one, again.function) for one in frame.failed_guards]) for frame in again.frames])


def _change(failed: FailedGuard, function: FunctionRecord) -> Tuple[str, ...]:
    also = [_thing(one.about, function) + one.then + one.now for one in failed.also if one.condition]
    if not failed.then or not failed.now:
        return (failed.about, failed.condition, failed.now, *also)
    return (_thing(failed.about, function), failed.then, failed.now, *also)


def _thing(about: str, function: FunctionRecord) -> str:
    """Return what changed, without the variable: a size is handed on under many names, an attribute keeps its own."""
    spreading = _SPREADING.search(about)
    if spreading is not None:
        return spreading[1] or spreading[0]
    if function.passed_on:
        name, *called = function.passed_on
        item = re.match(rf"{re.escape(name)}\[(\d+)\]", about)
        if item is not None and int(item[1]) < len(called):
            about = called[int(item[1])] + about[item.end() :]
    last = _LAST_NAMES.search(about)
    return about if last is None else last[0]


def _others(record: SessionRecord, same: Sequence[_Again], whole: bool) -> List[str]:
    """Return a line for each other function that was compiled again for the same change."""
    first, *others = same
    shown = others if whole or len(others) <= _MOST_OTHERS + 1 else others[:_MOST_OTHERS]
    lines = []
    for one in shown:
        versions = ", ".join(frame.compile_id for frame in one.frames if frame.failed_guards)
        needs = dict.fromkeys(_need(record, failed) for failed in one.failed)
        story = story_of(record, one.function.key)
        apart = f" ({story})" if story and story != story_of(record, first.function.key) else ""
        lines.append(f"{_INDENT}likewise {versions}, {title_of(record, one.function)}: {'; '.join(needs)}{apart}")
    rest = len(others) - len(shown)
    return lines + [f"{_INDENT}... and likewise {rest} more functions: see summary.txt"] * bool(rest)


def _need(record: SessionRecord, failed: FailedGuard) -> str:
    """Return what a version needs, and the line that asks for it if it is the program's own."""
    asked = _asked(record, failed) if failed.location is not None and is_own(failed.location.file) else ""
    return f"{failed.condition}, {failed.instead}".rstrip(", ") + asked


# ---------------------------------------------------------------- one function


def _block(record: SessionRecord, again: _Again, whole: bool) -> List[str]:
    """Return how often a function was compiled, and why each time."""
    function, frames = again
    often = f"compiled {len(frames)} times" if len(frames) > 1 else "compiled again"  # before that, elsewhere
    limited = ", torch's limit" * any(skip.kind == RECOMPILE_LIMIT for skip in function.skips)
    lines = [f"{often}{limited}: {title_of(record, function)} ({place_of_function(function)})"]
    calls = {frame.called_from for frame in frames if frame.failed_guards}
    for same in _alike(frames):
        lines += _reasons(record, same, whole)
        lines += _call(same[0].called_from) if len(calls) > 1 else []
    lines += _call(calls.pop()) if len(calls) == 1 else []
    passed = passed_names(function, [about for one in again.failed for about in _values(one)])
    lines += [f"{_INDENT}{passed}"] if passed else []
    advice = dict.fromkeys(one.advice for one in again.failed if one.advice)
    return lines + [f"{_INDENT}hint: {one}" for one in advice]


def _unnamed(same: Sequence[_Again]) -> List[str]:
    """Return what `___stack0` means, where a reason names it: the variable that it becomes, if that is known."""
    named: Dict[str, Dict[str, None]] = {}  # ___stack0 -> what it is called in each function; empty: not known
    for again in same:
        names = _names_of_values(again.function.source)
        for value in {one for failed in again.failed for text in _values(failed) for one in _VALUE.findall(text)}:
            named.setdefault(value, {})[names.get(value, "")] = None
    if not all(len(names) == 1 and all(names) for names in named.values()):
        return [f"{_INDENT}___stack<i>: {AT_THE_BREAK}"]
    known = ", ".join([f"{value} is {next(iter(names))}" for value, names in sorted(named.items())])
    return [f"{_INDENT}{known}"] if known else []


_VALUE = re.compile(r"___stack\d+")
_NAMED = re.compile(r"    (\w+) = (___stack\d+)$")


def _names_of_values(source: str) -> Dict[str, str]:
    """Return the variables that the first statements of a resume function make of what it is handed."""
    _, _, body = source.partition(":\n")
    found = list(itertools.takewhile(bool, map(_NAMED.match, body.splitlines())))
    return {one[2]: one[1] for one in found if one is not None}


def _story(record: SessionRecord, again: _Again) -> List[str]:
    file = story_of(record, again.function.key)
    return [f"{_INDENT}story: {file}"] if file else []


def _call(place: Location | None) -> List[str]:
    return [] if place is None else [f"{_INDENT}in the call at {place_of(place)}"]


def _alike(frames: Sequence[FrameRecord]) -> List[List[FrameRecord]]:
    """Return the versions that were compiled again, those together that differ from the others in the same values.

    The value that is named first is the same in each, too: it is what a reader takes for the cause.

    The first one of a group has its reasons shown, and the groups are in the order of these.
    """
    again = [frame for frame in frames if frame.failed_guards]
    found: Dict[Tuple[object, ...], List[FrameRecord]] = {}
    for number, frame in enumerate(again):
        values = {about for one in frame.failed_guards for about in _values(one)}
        cause = (frame.failed_guards[0].about, *sorted(values))
        found.setdefault((number,) if len(again) <= _MOST_EACH else cause, []).append(frame)
    return list(found.values())


def _values(failed: FailedGuard) -> List[str]:
    """Return the values that differ and that guards test, that of the guard that failed first."""
    return [failed.about, *[one.about for one in failed.also if one.condition]]


def _reasons(record: SessionRecord, same: Sequence[FrameRecord], whole: bool) -> List[str]:
    """Return the reasons of the first of these versions, and the values of the others: for a terminal of a few."""
    first = same[0]
    lines: List[str] = []
    for number, failed in enumerate(first.failed_guards[:_MOST_REASONS]):
        start = f"{first.compile_id} because" if not number else " " * len(first.compile_id) + " and"
        lines.append(f"{_INDENT}{start} {failed}{_asked(record, failed)}")
        lines += [f"{_INDENT}{' ' * len(first.compile_id)}     {failed.beside}"] if failed.beside else []
    others = same[1:] if whole else same[1:][-_MOST_REASONS:]
    rest = len(same) - 1 - len(others)
    lines += [f"{_INDENT}... {rest} more in the same way, with other values: see summary.txt"] if rest else []
    return lines + [f"{_INDENT}{one.compile_id} likewise: {_changed_values(one.failed_guards[0])}" for one in others]


def _changed_values(failed: FailedGuard) -> str:
    """Return what a version needs and has not, and what else changed, without who asked for it."""
    return "; ".join(
        filter(None, [f"{failed.need}, {failed.instead}".rstrip(", "), failed.beside if failed.also else ""])
    )


def _asked(record: SessionRecord, failed: FailedGuard) -> str:
    """Return the line that asked for the guard, and the program's own that led there, or that came next."""
    place = line_of(failed)
    if place is None:
        return ""
    own = [call for call in failed.stack if is_own(call.file)]
    can_be_shown = bool(place.code) or not place.file.startswith("<")
    asked = f"asked for by torch, which {OF_SIZES}; first used at" if failed.of_sizes else "asked for by"
    asked = "first used at" if failed.first_used else asked
    lines = [f"{asked} {place_of(place)}"] if can_be_shown else []
    # Torch cuts the paths of libraries; the calls have them whole.
    files = [place.file, *[call.file for call in failed.stack if call.file.endswith("/" + place.file)]]
    after = None if own or all(map(is_own, files)) else first_own_line(record, failed.version)
    if own:
        lines.append(f"reached from {place_of(own[-1])}")
    elif can_be_shown and after is not None:
        lines.append(f"before {place_of(after)}")
    return f"; {', '.join(lines)}" if lines else ""
