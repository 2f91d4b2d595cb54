"""The summary that ends a session: what was compiled, then each graph break, recompile and failure once.

    depyf: 5 frames (5 proved), 3 graphs, 1 graph break in dump
      called: Model.forward (model.py:8)
      graph break at model.py:4: print(what)
          Failed to trace builtin operator ...
          reached from model.py:9: x = note(x + 1, "a")
          reached from model.py:10: x = note(x.relu(), "b")
          hint: If you are attempting to call a logging function ...
          story: full_code_for_forward_0.py
      compiled 2 times: step (model.py:14)
          0/1 because 0/0 needs n == 1, now 7; asked for by model.py:15: return x * n
          story: full_code_for_step_0.py
      open first: dump/full_code_for_forward_0.py

Each is a block: where, why, how it was reached, what torch advises, and the story that shows it.  The terminal gets the
first few of each kind, `summary.txt` all of them.  Nothing here reads words of the record: lines are found by fields.
"""

from __future__ import annotations

import os
from typing import Callable, List, Mapping, Sequence

from depyf.record.records import SKIP_KINDS, FunctionRecord, Location, SessionRecord, SkipRecord
from depyf.record.vocabulary import (
    FAILED,
    GRAPH_BREAK,
    GRAPH_BREAK_IN_LOOP,
    INTERRUPTED,
    PROVED_GRADES,
    RECOMPILE_LIMIT,
    SUPPRESSED_ERROR,
)
from depyf.report.break_paths import Owners, calls_inside, why_no_resume
from depyf.report.break_summary import Cause, break_blocks, causes_of_breaks, function_around, number_of_breaks
from depyf.report.call_chains import calls_to, has_library_path, place_of, place_of_function, reached_lines
from depyf.report.reader_text import reader_text
from depyf.report.recompile_summary import recompile_blocks
from depyf.report.skip_reasons import worst_skip, worth_a_line
from depyf.report.story_order import called_functions, stories_by_worth, story_of
from depyf.report.wrapper_notes import title_of

PAGES = ("index.html", "depyf_index.html")
_MOST_BLOCKS = 5  # of each kind, on a terminal
_MOST_KEPT = 3
_MOST_CALLED = 3
_INDENT = "    "

Block = List[str]


def render(
    record: SessionRecord,
    folder: str,
    is_there: Callable[[str], bool] = bool,
    kept: Mapping[str, str] = {},
    whole: bool = False,
    is_alone: bool = True,
) -> str:
    """Return the summary: what was compiled, where graphs broke, what was compiled again and why, what to open first.

    `is_there` returns whether a file can be opened: somebody may have removed the folder meanwhile. `kept` maps the
    names of files in the folder that are not depyf's to the names that depyf's own took instead. `whole`: for a file,
    with every block; a file is the same wherever the folder lies, hence `folder` is empty then. `is_alone`: no other
    process of the program compiled anything.
    """
    causes = causes_of_breaks(record)
    lines = [f"depyf: {numbers(record, causes)}{f' in {folder}' if folder else ''}", *_end(record)]
    lines += [f"  {line}" for line in called(record)]
    kinds = blocks_of(record, causes, whole)
    for blocks in kinds:
        lines += [f"  {line}" for line in shown(blocks, whole)]
    lines += _left_to_python(len(record.skipped), len(kinds[-1]), kept.get("manifest.json", "manifest.json"))
    if is_alone and not record.frames and not record.graphs and not record.lone_breaks and not record.skipped:
        lines.append("  nothing was compiled: is a compiled function called inside the context? (torch.export compiles")
        lines.append("  nothing unless strict=True)")
    if record.recorded_elsewhere:
        versions = _count(record.recorded_elsewhere, "version")
        lines.append(f"  {versions} compiled earlier: in the folders of the contexts before this one")
    lines += [f"  {line}" for line in not_offered(record, kept.get("manifest.json", "manifest.json"), whole)]
    paths = (os.path.join(folder, name) for name in (() if record.from_log else stories_by_worth(record)))
    first = next((path for path in paths if is_there(path)), None)
    if first is not None:
        lines.append(f"  open first: {first}")
    lines += [f"  page: {os.path.join(folder, name)}" for name in record.files if name in PAGES]
    return reader_text([*lines, *_kept(kept), *_problems(record)], record.user_files)


def called(record: SessionRecord) -> List[str]:
    """Return a line on what the program called, where that is known."""
    functions = called_functions(record)
    if not functions:
        return []
    shown_ones = [f"{one.display_name} ({place_of_function(one)})" for one in functions[:_MOST_CALLED]]
    rest = f" and {len(functions) - _MOST_CALLED} more" if len(functions) > _MOST_CALLED else ""
    return [f"called: {', '.join(shown_ones)}{rest}"]


def blocks_of(record: SessionRecord, causes: Sequence[Cause], whole: bool = False) -> List[List[Block]]:
    """Return what the summary lists, by kind: graph breaks, recompiles, functions that were not compiled."""
    return [break_blocks(record, causes, whole), recompile_blocks(record, whole), _not_compiled(record)]


def shown(blocks: Sequence[Block], whole: bool) -> List[str]:
    """Return the lines of blocks of one kind: all of them, or for a terminal those of the first few."""
    few = blocks if whole else blocks[:_MOST_BLOCKS]
    lines = [line for block in few for line in block]
    rest = len(blocks) - len(few)
    return [*lines, f"... and {rest} more like this: see summary.txt"] if rest else lines


def numbers(record: SessionRecord, causes: Sequence[Cause]) -> str:
    """Return how many frames, graphs and graph breaks there are."""
    proved = sum(frame.grade in PROVED_GRADES for frame in record.frames)
    cached = sum(frame.from_cache for frame in record.frames)
    before = f", {cached} compiled before" if cached else ""
    proofs = f" ({proved} proved{before})" if record.frames and not record.from_log else ""
    frames, graphs = _count(len(record.frames), "frame"), _count(len(record.graphs), "graph")
    return f"{frames}{proofs}, {graphs}, {number_of_breaks(causes)}"


def not_offered(record: SessionRecord, manifest: str, whole: bool) -> List[str]:
    """Return a line on what this torch cannot give; for a file, what that is."""
    if not record.not_offered:
        return []
    number = _count(len(record.not_offered), "thing")
    if record.from_log:
        return ["made of a trace log, which lacks:", *[f"{_INDENT}{line}" for line in record.not_offered]]
    if not whole:
        return [f"torch {record.versions.torch} does not give {number} that newer ones do: see summary.txt"]
    return [
        f"torch {record.versions.torch} does not give {number} that newer ones do (not_offered in {manifest}):",
        *[f"{_INDENT}{line}" for line in record.not_offered],
    ]


def _end(record: SessionRecord) -> List[str]:
    """Return whether the process ended before its context did."""
    if record.complete:
        return []
    doing = f"while compiling {', '.join(record.compiling)}" if record.compiling else "not while compiling"
    return [f"  not complete: the process was killed, or still ran, {doing}"]


def _problems(record: SessionRecord) -> List[str]:
    lines = [] if record.lost_files is None else [f"  {record.lost_files}"]
    return lines + [f"  {_count(len(record.problems), 'problem')} inside depyf, see the log"] * bool(record.problems)


def _kept(kept: Mapping[str, str]) -> List[str]:
    """Return one line on the files that are not depyf's and stay."""
    if not kept:
        return []
    shown = [f"{name} (depyf's is {own})" for name, own in sorted(kept.items())[:_MOST_KEPT]]
    rest = f" and {len(kept) - _MOST_KEPT} more" if len(kept) > _MOST_KEPT else ""
    return [f"  not depyf's, and left as they are: {', '.join(shown)}{rest}"]


# ---------------------------------------------------------------- what was not compiled


def _story(file: str | None) -> List[str]:
    return [f"{_INDENT}story: {file}"] if file else []


def _not_compiled(record: SessionRecord) -> List[Block]:
    """Return the functions of the program that were left to Python and matter."""
    compiled = {frame.function for frame in record.frames}
    owners = Owners(record)
    blocks = []
    for function in _named(record):
        skip = worst_skip(function)
        always = "always " if function.key in compiled else ""
        kind = SKIP_KINDS.get(skip.kind, skip.reason)
        lines = [f"not {always}compiled: {title_of(record, function)} ({place_of_function(function)}): {kind}"]
        if skip.kind in (FAILED, SUPPRESSED_ERROR, INTERRUPTED) or _is_explained_here_alone(skip):
            lines += [f"{_INDENT}at {place_of(skip.location)}"] * (skip.location is not None)
            lines += function_around(_call_at_failure(skip), owners, [function.display_name])
            lines.append(_INDENT + skip.reason)
            chain = calls_to(record, skip.stack, skip.location)
            lines += [_INDENT + line for line in reached_lines([chain] if chain else [])]
            lines += [f"{_INDENT}hint: {hint}" for hint in _own_hints(skip)]
            lines += _story(story_of(record, function.key))
        elif skip.kind == RECOMPILE_LIMIT:
            lines += [_INDENT + line for line in _limit(skip)] + _story(story_of(record, function.key))
        elif skip.graph_breaks:
            lines += _own_line(skip, function) + _story(story_of(record, function.key))
        blocks.append(lines)
    return blocks


def _call_at_failure(skip: SkipRecord) -> Location | None:
    """Return the innermost call if it is at the line of the failure, which by itself has no function."""
    if skip.location is None or not skip.stack:
        return None
    place, innermost = skip.location, skip.stack[-1]
    return innermost if (innermost.file, innermost.line) == (place.file, place.line) else None


def _own_hints(skip: SkipRecord) -> List[str]:
    """Return the hints of a failure without those of the graph breaks before it, which have blocks of their own."""
    others = {hint for one in skip.graph_breaks for hint in one.hints}
    return [hint for hint in skip.hints if hint not in others]


def _limit(skip: SkipRecord) -> List[str]:
    """Return the limit on recompiles, why no version fits the call that came next, and what torch advises."""
    lines = [skip.detail or skip.reason]
    lines += [f"in the call at {place_of(skip.called_from)}"] if skip.called_from is not None else []
    return lines + list(map(str, skip.failed_guards)) + [f"hint: {hint}" for hint in skip.hints]


def _own_line(skip: SkipRecord, function: FunctionRecord) -> List[str]:
    """Return the line of a function at which the first break happened, and why Dynamo does not resume there."""
    first = skip.graph_breaks[0]
    calls = calls_inside(first, function)
    why = why_no_resume(first, function) if skip.kind == GRAPH_BREAK else ""
    return [f"{_INDENT}at {place_of(call)}" for call in calls[:1]] + [f"{_INDENT}{why}"] * bool(why)


def _is_explained_here_alone(skip: SkipRecord) -> bool:
    """Return whether a graph break left no other trace than the failure of its frame (torch 2.8 and older)."""
    has_cause = skip.location is not None or bool(skip.detail)
    return skip.kind in (GRAPH_BREAK, GRAPH_BREAK_IN_LOOP) and not skip.graph_breaks and has_cause


def _named(record: SessionRecord) -> List[FunctionRecord]:
    """Return the functions to name: the program's own and what it called, then those of libraries that are lost.

    Of wrappers and what they hold, that.
    """
    called_titles = {one.display_name for one in called_functions(record)}
    near = [one for one in record.skipped if one.display_name in called_titles or _is_near(record, one)]
    worthy = [one for one in near if worth_a_line(one) or not record.frames]
    inside = {one.display_name for one in worthy if one.original is None}
    named = [one for one in worthy if one.original is None or one.display_name not in inside]
    return sorted(named, key=lambda one: has_library_path(one.shown_file))


def _is_near(record: SessionRecord, function: FunctionRecord) -> bool:
    """Return whether a function is the program's own, or one of a library's that is lost and has a story of why.

    Lost is what reached the limit of recompiles, and what a graph break left to Python: a function, or the rest of one.
    """
    if not has_library_path(function.shown_file):
        return True
    kind = worst_skip(function).kind
    is_broken = kind in (GRAPH_BREAK, GRAPH_BREAK_IN_LOOP) and story_of(record, function.key) is not None
    return kind == RECOMPILE_LIMIT or is_broken


def _left_to_python(number: int, named: int, manifest: str) -> List[str]:
    """Return how many of the functions that were left to Python are not named above."""
    rest = number - named
    which = "no graph, disabled, of a library ..."
    what = f"{_count(rest, 'function')} {'more ' if named else ''}left to Python ({which})"
    return [f"  {what}: why is in {manifest}"] if rest else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
