"""What two runs of a program did not do alike: `depyf diff`.

Functions are paired by name, and among those of one name by their order; resume functions by what they continue.  Then
their versions are, one by one, and the graphs and kernels of these.  Compared is what runs, not what is written beside
it: comments are left out, and so are the numbers in the names that Dynamo makes up, which change with anything before
them.  Lines of the program that moved are no difference.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from depyf.record.records import FrameRecord, FunctionRecord, GraphBreak, GraphRecord, SessionRecord, StageRecord
from depyf.record.vocabulary import CAPTURED_GRAPH, TRANSFORMED_CODE
from depyf.report.graph_difference import first_difference
from depyf.report.reader_text import reader_text
from depyf.report.wrapper_notes import title_of
from depyf.text.resume_names import UP_TO_LINE

ReadText = Callable[[str], str]  # name of a file in the folder -> its text
Identity = Tuple[object, ...]

_MADE_UP = re.compile(rf"\b((?:__)?compiled_fn|__resume_at|__transformed_code|{UP_TO_LINE})_\d[\d_]*")
_CACHE_PATH = re.compile(r"[\w./\\:-]*torchinductor_[\w./\\-]+")
_KERNEL = re.compile(r"^(\w+) = async_compile\.", re.MULTILINE)
_LATER_STAGES = "later stages"


@dataclass(frozen=True)
class RunDifference:
    """One thing that is not the same in both runs."""

    function: str  # as a person calls it
    place: str  # "file:line" of it in the run that has it, the first one where both have
    # What differs: "process", "function", "source", "versions", "grade", "transformed code", "graphs", "graph",
    # "later stages", "kernel", "break" or "recompile".
    kind: str
    first: str  # what the first run has; empty: nothing
    second: str
    about: str = ""  # which one: the compile id of a version, the names of later stages

    def lines(self) -> Iterator[str]:
        """Yield it for a reader, under the name of its function."""
        about = f": {self.about}" if self.kind == _LATER_STAGES else f" of version {self.about}" if self.about else ""
        yield f"  {self.kind}{about}"
        if self.first:
            yield f"    - {self.first}"
        if self.second:
            yield f"    + {self.second}"


@dataclass(frozen=True)
class Run:
    """One run: its record, and how to read its files."""

    record: SessionRecord
    read: ReadText


def compare(first: Run, second: Run) -> Tuple[RunDifference, ...]:
    """Return what the two did not do alike, in the order of the first run."""
    ours, theirs = _functions(first.record), _functions(second.record)
    found: List[RunDifference] = []
    for identity in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(identity), theirs.get(identity)
        record, function = (second.record, other) if one is None else (first.record, one)
        if function is None:
            continue
        if one is None or other is None:
            pieces = [_Piece("function", "compiled" if one is not None else "", "compiled" if one is None else "")]
        else:
            pieces = list(_of_function(first, second, one, other))
        name, place = title_of(record, function), function.shown_place
        found += [RunDifference(name, place, *piece) for piece in pieces]
    return tuple(found)


def render(differences: Sequence[RunDifference]) -> str:
    """Return the differences by function; one line where there are none."""
    if not differences:
        return "no difference\n"
    lines: List[str] = []
    for difference in dict.fromkeys(differences):  # the rests of a function after its branches may be alike
        heading = f"{difference.function} ({difference.place})"
        if heading not in lines:
            lines.append(heading)
        lines += difference.lines()
    return reader_text(lines) + "\n"


# -- functions


def _functions(record: SessionRecord) -> Dict[Identity, FunctionRecord]:
    """Return the functions that Dynamo met by what is the same in two runs."""
    found: Dict[Identity, FunctionRecord] = {}

    def add(functions: Iterable[FunctionRecord], parent: Identity) -> None:
        numbers: Dict[str, int] = {}
        for function in functions:
            name = "rest" if parent else function.display_name
            identity = (*parent, name, numbers.setdefault(name, 0))
            numbers[name] += 1
            if identity not in found:
                found[identity] = function
                add(record.resumes_of(function.key), identity)

    known = {function.key for function in record.functions}
    add([one for one in record.functions if one.resume_of not in known], ())
    return found


class _Piece(NamedTuple):
    """A difference in one function: the fields of a RunDifference that follow the function."""

    kind: str
    first: str
    second: str
    about: str = ""


def _of_function(first: Run, second: Run, one: FunctionRecord, other: FunctionRecord) -> Iterator[_Piece]:
    changed = _changed_lines(_source(one), _source(other))
    if any(changed):
        yield _Piece("source", *changed)
    ours, theirs = first.record.frames_of(one.key), second.record.frames_of(other.key)
    if len(ours) != len(theirs):
        yield _Piece("versions", _compiled(len(ours)), _compiled(len(theirs)))
    for left, right in zip(ours, theirs):
        yield from _of_frame(first, second, left, right)
    yield from _of_sets("break", _breaks(one, ours), _breaks(other, theirs))
    yield from _of_sets("recompile", _recompiles(ours), _recompiles(theirs))


def _compiled(times: int) -> str:
    return {0: "not compiled", 1: "compiled once"}.get(times, f"compiled {times} times")


def _source(function: FunctionRecord) -> str:
    """Return the text of the function; none of a resume function, which has no other than the one that it continues."""
    if function.resume_of:
        return ""
    return function.source if function.original is None else function.original.source


# -- versions


def _of_frame(first: Run, second: Run, left: FrameRecord, right: FrameRecord) -> Iterator[_Piece]:
    if left.grade != right.grade:
        yield _Piece("grade", left.grade, right.grade, left.compile_id)
    was, now = _changed_lines("\n".join(code_lines(left.source)), "\n".join(code_lines(right.source)))
    if was or now:
        yield _Piece(TRANSFORMED_CODE, f"{left.file}: {was}", f"{right.file}: {now}", left.compile_id)
    for our_name, their_name in zip(left.graphs, right.graphs):
        ours, theirs = first.record.graph(our_name), second.record.graph(their_name)
        if ours is not None and theirs is not None:
            yield from _of_graph(first, second, ours, theirs)
    if len(left.graphs) != len(right.graphs):
        was, now = [", ".join(frame.graphs) or "none" for frame in (left, right)]
        yield _Piece("graphs", was, now, left.compile_id)


def _of_graph(first: Run, second: Run, ours: GraphRecord, theirs: GraphRecord) -> Iterator[_Piece]:
    later: List[str] = []
    for left, right in _paired(ours.stages, theirs.stages):
        one, other = code_lines(first.read(left.file)), code_lines(second.read(right.file))
        if one == other:
            continue
        if left.stage == CAPTURED_GRAPH:
            was, now = first_difference([one, other])
            yield _Piece("graph", f"{left.file}: {was}", f"{right.file}: {now}")
        else:
            later.append(left.stage)
    if later:
        yield _Piece(_LATER_STAGES, "", "", ", ".join(dict.fromkeys(later)))
    for left, right in _paired(ours.kernels, theirs.kernels):
        yield from _of_kernel(left, right, first.read(left.file), second.read(right.file))
    if len(ours.kernels) != len(theirs.kernels):
        yield _Piece("kernel", f"{len(ours.kernels)} modules of kernels", f"{len(theirs.kernels)} modules of kernels")


def _paired(left: Sequence[StageRecord], right: Sequence[StageRecord]) -> Iterator[Tuple[StageRecord, StageRecord]]:
    others = {(stage.stage, stage.index): stage for stage in right}
    for stage in left:
        other = others.get((stage.stage, stage.index))
        if other is not None:
            yield stage, other


def _of_kernel(left: StageRecord, right: StageRecord, one: str, other: str) -> Iterator[_Piece]:
    left_lines, right_lines = code_lines(one), code_lines(other)
    if left_lines == right_lines:
        return
    ours, theirs = _KERNEL.findall(one), _KERNEL.findall(other)
    gone = [name for name in ours if name not in theirs]
    new = [name for name in theirs if name not in ours]
    if gone or new:
        was, now = [", ".join(names) or "none more" for names in (gone, new)]
        yield _Piece("kernel", f"{left.file}: {was}", f"{right.file}: {now}")
    else:
        was, now = _changed_lines("\n".join(left_lines), "\n".join(right_lines))
        yield _Piece("kernel", f"{left.file}: {was}", f"{right.file}: {now}")


# -- breaks and recompiles


def _breaks(function: FunctionRecord, frames: Sequence[FrameRecord]) -> List[str]:
    every: List[GraphBreak] = [one for frame in frames for one in frame.graph_breaks]
    every += [one for skip in function.skips for one in skip.graph_breaks]
    return list(map(_break_line, every))


def _break_line(graph_break: GraphBreak) -> str:
    """Return why and at which line a graph broke; torch does not give the line of every one."""
    reason = _masked(graph_break.reason)
    code = graph_break.location.code if graph_break.location else ""
    return f"{reason.rstrip('.')}, at `{code}`" if code else reason


def _recompiles(frames: Sequence[FrameRecord]) -> List[str]:
    return [f"{frame.compile_id}: {_masked(str(failed))}" for frame in frames for failed in frame.failed_guards]


def _of_sets(kind: str, ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_Piece]:
    for text in dict.fromkeys(ours):
        if text not in theirs:
            yield _Piece(kind, text, "")
    for text in dict.fromkeys(theirs):
        if text not in ours:
            yield _Piece(kind, "", text)


# -- texts


def code_lines(text: str) -> List[str]:
    """Return the lines of a file without comments, empty lines and made-up numbers."""
    kept = text.splitlines()
    for line, column in reversed(_comments(text)):
        kept[line - 1] = kept[line - 1][:column]
    return [line for line in (_masked(line).rstrip() for line in kept) if line]


def _comments(text: str) -> List[Tuple[int, int]]:
    """Return where comments begin: lines from 1, columns from 0; those before the first thing that is no Python."""
    found: List[Tuple[int, int]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.start)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found


def _masked(text: str) -> str:
    return _CACHE_PATH.sub("", _MADE_UP.sub(r"\1_", text))


def _changed_lines(one: str, other: str) -> Tuple[str, str]:
    """Return the first lines that differ, each of one text; two empty texts where none do."""
    if one == other:
        return "", ""
    left, right = one.splitlines(), other.splitlines()
    for tag, start, end, begin, stop in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            return (
                left[start].strip() if start < end else "(nothing)",
                right[begin].strip() if begin < stop else "(nothing)",
            )
    return "", ""
