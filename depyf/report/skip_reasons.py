"""Why something was not compiled: graph breaks and skipped functions, as lines for a reader."""

from __future__ import annotations

import textwrap

from depyf.record.records import SKIP_KINDS, FrameRecord, FunctionRecord, GraphBreak, Location, SkipRecord
from depyf.record.vocabulary import (
    FAILED,
    GENERATOR,
    GRAPH_BREAK,
    GRAPH_BREAK_IN_LOOP,
    INTERRUPTED,
    OTHER,
    RECOMPILE_LIMIT,
    SUPPRESSED_ERROR,
)
from depyf.report.break_paths import calls_inside, why_no_resume
from depyf.report.call_chains import few_calls
from depyf.report.guard_function import OF_SIZES, asked_by

_WIDTH = 112
_MOST_CALLS = 8  # of one way


def recompile_lines(frame: FrameRecord, function: FunctionRecord) -> list[str]:
    """Return why no earlier version fits: the guard that failed, the values then and now, and who asked for it.

    Of the calls that led there the records have those of the program: the last one is named.
    """
    if not frame.failed_guards:
        reasons = [_wrapped(f"why:    {reason}", "  ", "          ") for reason in frame.recompile_reasons]
        return [line for reason in reasons for line in reason]
    lines = []
    for failed in frame.failed_guards:
        lines += _wrapped(f"why:    {failed.need}", "  ", "          ")
        lines += _wrapped(failed.instead, "            ") if failed.instead else []
        asked = asked_by(failed.location)
        if asked and failed.of_sizes:
            lines += _wrapped(f"asked for by torch, which {OF_SIZES}; first used at {asked}", "            ")
        elif asked:
            lines.append(f"            {'first used at' if failed.first_used else 'asked for by'} {asked}")
        if asked and failed.stack:
            lines.append(f"            reached from {asked_by(failed.stack[-1])}")
        lines += _wrapped(failed.likewise, "            ") if failed.others else []
        lines += _wrapped(failed.beside, "            ", "                  ") if failed.beside else []
    for advice in dict.fromkeys(failed.advice for failed in frame.failed_guards if failed.advice):
        lines += _wrapped(f"hint: {advice}", "            ", "                  ")
    called = asked_by(frame.called_from)
    return [*lines, f"          in the call at {called}"] if called else lines


def break_lines(graph_break: GraphBreak, function: FunctionRecord) -> list[str]:
    """Return where the graph broke, why, through which calls, and what torch advises."""
    lines = [f"  break:  {asked_by(graph_break.location) or 'at an unknown line'}"]
    lines += _wrapped(graph_break.reason, "          ")
    lines += _raised_lines(graph_break, "          ")
    lines += _way_lines(graph_break, function, "          ")
    for hint in graph_break.hints:
        lines += _wrapped(f"hint: {hint}", "          ", "                ")
    return lines


def repeated_break(graph_break: GraphBreak, shown_at: str) -> list[str]:
    """Return the line for a break that is described beside an earlier version."""
    return [f"  break:  {asked_by(graph_break.location) or 'at an unknown line'}   (as in {shown_at})"]


def skip_lines(skip: SkipRecord, function: FunctionRecord) -> list[str]:
    """Return why Dynamo left a function to plain Python, and what torch advises."""
    attempt = f"   (compile id {skip.compile_id})" if skip.compile_id else ""
    meaning = SKIP_KINDS.get(skip.kind, skip.kind)
    lines = [f"  {meaning}{attempt}"]
    if not skip.graph_breaks and skip.location is not None:
        lines.append(f"      at {asked_by(skip.location)}")
    if not skip.graph_breaks and skip.detail:
        lines += _wrapped(skip.detail, "      ")
    lines += _unmet(skip, "      ")
    described: dict[tuple[str, ...], None] = {}
    for graph_break in skip.graph_breaks:
        about = [f"      at {asked_by(graph_break.location) or 'an unknown line'}"]
        about += _wrapped(graph_break.reason, "          ")
        about += _raised_lines(graph_break, "          ")
        about += _way_lines(graph_break, function, "          ")
        why = why_no_resume(graph_break, function) if skip.kind == GRAPH_BREAK else ""
        described[tuple(about + (_wrapped(why, "          ") if why else []))] = None
    lines += [line for about in described for line in about]
    hints = tuple(dict.fromkeys(skip.hints + tuple(hint for one in skip.graph_breaks for hint in one.hints)))
    for hint in hints:
        lines += _wrapped(f"hint: {hint}", "      ", "            ")
    return lines


def limit_lines(title: str, skip: SkipRecord) -> list[str]:
    """Return that a function has reached the limit on recompiles, and what that means for calls of it."""
    lines = _wrapped(f"{title}: {SKIP_KINDS[skip.kind]}", "") + _wrapped(f"({skip.detail or skip.reason}).", "")
    called = asked_by(skip.called_from)
    first = ([f"  {called}"] if called else []) + _unmet(skip, "  ")
    lines.append(f"A call that fits none of its versions runs the original.{' The first such call:' * bool(first)}")
    lines += first
    for hint in skip.hints:
        lines += _wrapped(f"hint: {hint}", "  ", "        ")
    return lines


def _unmet(skip: SkipRecord, indent: str) -> list[str]:
    """Return why no version fits a call past the limit on recompiles."""
    return [line for failed in skip.failed_guards for line in _wrapped(str(failed), indent, indent + "  ")]


def _raised_lines(graph_break: GraphBreak, indent: str) -> list[str]:
    """Return the line that raised an exception, where the line of the break only passes it on."""
    first = graph_break.raised_before
    if first is None:
        return []
    lines = _wrapped(f"raised at {asked_by(first)}", indent)
    return lines + _wrapped("(the break is where a `finally`, `with` or `except` raises it once more)", indent)


def _way_lines(graph_break: GraphBreak, function: FunctionRecord, indent: str) -> list[str]:
    """Return the calls from a line of the function down to the break, one on a line, the break itself aside."""
    calls, place = calls_inside(graph_break, function), graph_break.location
    if place is not None and calls and (calls[-1].file, calls[-1].line) == (place.file, place.line):
        calls = calls[:-1]
    lines: list[str] = []
    for text in few_calls(calls, _MOST_CALLS, _call):
        lines += _wrapped(("     then " if lines else "by way of ") + text, indent, indent + " " * 14)
    return lines


# Kinds that nobody wants, worst first; of the others the program loses nothing, or asked for them.
_WORTH_A_LINE = (
    FAILED,
    INTERRUPTED,
    SUPPRESSED_ERROR,
    RECOMPILE_LIMIT,
    GRAPH_BREAK_IN_LOOP,
    GRAPH_BREAK,
    GENERATOR,
    OTHER,
)


def worth_a_line(function: FunctionRecord) -> bool:
    """Return whether a summary should name the function: it might have been compiled and was not."""
    return any(skip.kind in _WORTH_A_LINE for skip in function.skips)


def worst_skip(function: FunctionRecord) -> SkipRecord:
    """Return the skip of a function that matters most."""
    return min(function.skips, key=_rank)


def _rank(skip: SkipRecord) -> int:
    return _WORTH_A_LINE.index(skip.kind) if skip.kind in _WORTH_A_LINE else len(_WORTH_A_LINE)


def _call(call: Location) -> str:
    """Return a call by its line: many functions on the way have the same name."""
    return f"{call.file}:{call.line}" + (f": {call.code}" if call.code else f" in {call.function}")


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [indent.rstrip()]
