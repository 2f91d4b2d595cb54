"""The way to a graph break: the calls from the compiled function down to the line, and what became of the functions.

A call of a stack has the name of its function, and many functions of a file have one name (`forward`): the function is
the one whose lines hold the call.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from typing import Callable, Iterable, Iterator, Sequence

from depyf.record.records import SKIP_KINDS, FunctionRecord, GraphBreak, Location, SessionRecord
from depyf.report.story_order import root_of
from depyf.report.wrapper_notes import hook_note, title_apart
from depyf.text.resume_names import continued

_MOST_NAMED = 12  # functions that one line, or one function, calls


def calls_inside(graph_break: GraphBreak, function: FunctionRecord) -> list[Location]:
    """Return the part of the stack that starts in the function itself."""
    if graph_break.way:
        return list(graph_break.way)
    calls = list(graph_break.stack)
    for position in reversed(range(len(calls))):
        if _holds(function, function.file, calls[position]):
            return calls[position:]
    return []


def _holds(function: FunctionRecord, file: str, call: Location) -> bool:
    """Return whether a call is in the function, which is in `file`."""
    # Stacks have the name of the function itself.
    name = function.name if function.resume_of is None else continued(function.name)
    if (name, file) != (call.function, call.file):
        return False
    last = function.last_line
    return function.resume_of is not None or last is None or function.first_line <= call.line <= last


class Owners:
    """Finds the functions that calls are in; `short` is what was done to the paths of the calls."""

    def __init__(self, session: SessionRecord, short: Callable[[str], str] = str) -> None:
        self._session = session
        self._short = short

    @functools.cached_property
    def _by_name(self) -> dict[tuple[str, str], list[FunctionRecord]]:
        found: dict[tuple[str, str], list[FunctionRecord]] = {}
        for one in self._session.functions:
            if one.resume_of is None:
                found.setdefault((one.name, self._short(one.file)), []).append(one)
        return found

    @functools.cached_property
    def _calls(self) -> dict[tuple[str, str], list[tuple[Location, int]]]:
        """The calls in each function, by its name and file, with the number of the function that they led to."""
        found: dict[tuple[str, str], list[tuple[Location, int]]] = {}
        for number, one in enumerate(self._session.functions):
            for call in one.called_at:
                short = Location(self._short(call.file), call.line, call.function)
                found.setdefault((short.function, short.file), []).append((short, number))
        return found

    @functools.cached_property
    def _called_at(self) -> dict[tuple[str, int], list[int]]:
        """The numbers of the functions that each line called."""
        found: dict[tuple[str, int], list[int]] = {}
        for calls in self._calls.values():
            for call, number in calls:
                found.setdefault((call.file, call.line), []).append(number)
        return found

    def of(self, call: Location, after: Sequence[Location] = ()) -> FunctionRecord | None:
        """Return the function that a call is in; of wrappers, which share their code, the one that led to `after`."""
        known = self._by_name.get((call.function, call.file), ())
        found = [one for one in known if _holds(one, call.file, call)]
        if len(found) > 1:  # of functions inside one another the innermost
            nearest = max(one.first_line for one in found)
            found = [one for one in found if one.first_line == nearest]
        if len(found) > 1:
            found = [one for one in found if any(self._is_inside(one, later) for later in after)]
        return found[0] if len({one.key for one in found}) == 1 else None

    def _is_inside(self, wrapper: FunctionRecord, call: Location) -> bool:
        """Return whether a call is in the function that a wrapper was put around."""
        original = wrapper.original
        if original is None or self._short(original.file) != call.file:
            return False
        return 0 <= call.line - original.first_line <= original.source.rstrip("\n").count("\n")

    def on(self, way: Sequence[Location]) -> Iterator[FunctionRecord]:
        """Yield the functions that the calls are in."""
        for number, call in enumerate(way):
            found = self.of(call, way[number + 1 :])
            if found is not None:
                yield found

    def called_at(self, line: Location) -> Iterator[FunctionRecord]:
        """Yield the functions that Dynamo came to when this line called them."""
        for number in sorted(set(self._called_at.get((line.file, line.line), ()))):
            yield self._session.functions[number]

    def called_in(self, function: FunctionRecord) -> Iterator[FunctionRecord]:
        """Yield the functions that Dynamo came to when a line of this one, whose path is short, called them.

        Of a resume function, the lines are those of the function that it continues.
        """
        whole = root_of(self._session, function.key)
        if whole is None or whole.resume_of is not None:
            return
        file = self._short(whole.file)
        calls = self._calls.get((whole.name, file), ())
        for number in sorted({number for call, number in calls if _holds(whole, file, call)}):
            yield self._session.functions[number]

    def fates(self, functions: Iterable[FunctionRecord], but: str) -> list[str]:
        """Return a line for each function that has a story, that with the key `but` aside: what became of it."""
        found: dict[str, None] = {}
        for one in functions:
            what = self._fate(one)
            if one.key != but and what and one.full_code_file is not None:
                note = hook_note(one)
                title = title_apart(self._session, one) + (f", {note}," if note else "")
                found[f"{title} is {what}: {one.full_code_file}"] = None
        lines = list(found)[:_MOST_NAMED]
        return lines + [f"... and {len(found) - len(lines)} more functions"] * (len(found) > len(lines))

    def _fate(self, function: FunctionRecord) -> str:
        if self._session.frames_of(function.key):
            return "compiled on its own"
        if function.skips:
            kind = SKIP_KINDS.get(function.skips[0].kind, function.skips[0].reason)
            return f"left to Python ({kind})"
        return "compiled on its own, before this session" if function.earlier_versions else ""


# ---------------------------------------------------------------- why Dynamo does not resume


def why_no_resume(graph_break: GraphBreak, function: FunctionRecord) -> str:
    """Return why Dynamo does not resume after a break, as far as the lines of the function show it; else empty."""
    if graph_break.raised_at is not None:
        return "while it is traced, the exception leaves the function: there is nothing to resume"
    calls = calls_inside(graph_break, function)
    block = _block_around(function, calls[0].line) if calls else None
    return "" if block is None else f"line {calls[0].line} is inside {block}: Dynamo does not resume there"


def _block_around(function: FunctionRecord, line: int) -> str | None:
    """Return the innermost `try` or `with` around a line of a function; None where there is none."""
    if function.last_line is None or function.resume_of is not None:
        return None
    try:
        tree = ast.parse(textwrap.dedent(function.source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = None
    for node in ast.walk(tree):
        kind = "try" if isinstance(node, ast.Try) else "with" if isinstance(node, (ast.With, ast.AsyncWith)) else ""
        if kind and any(_covers(part, line - function.first_line + 1) for part in _guarded(node)):
            found = f"the `{kind}` of line {node.lineno + function.first_line - 1}"  # type: ignore[attr-defined]
    return found


def _guarded(node: ast.AST) -> list[ast.stmt]:
    """Return the statements of a block that Dynamo cannot leave for a resume function."""
    body: list[ast.stmt] = [*node.body]  # type: ignore[attr-defined]
    if isinstance(node, ast.Try):
        body += [part for handler in node.handlers for part in handler.body]
        body += node.orelse if node.finalbody else []
    return body


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
