"""What `depyf.inspect` shows on a terminal or in a notebook: an overview, and the whole story in one text."""

from __future__ import annotations

import textwrap
from typing import List, Mapping

from depyf.record.guard_conditions import NoDimensionMarks, TensorTest, ValueTest
from depyf.record.records import FrameRecord, FunctionRecord, GraphRecord, GuardRecord, SessionRecord
from depyf.report import full_code
from depyf.report.reader_text import reader_text
from depyf.text import python_source

_WIDTH = 100
_MOST_CONDITIONS = 8

# Kinds of guards on what a call passes, not on the program around it.
_OF_ARGUMENTS = ("EQUALS_MATCH", "LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD", "TRUE_MATCH", "FALSE_MATCH", "NONE_MATCH")


def render(record: SessionRecord) -> str:
    """Return a few lines for each function that is compiled: its versions, their graphs, and for what they hold."""
    lines: List[str] = []
    for function in _roots(record):
        lines += _function(record, function, "")
    if not lines:
        return "nothing that torch.compile made lives in this process"
    if record.frames:
        lines.append("print it to see all: the code, the guards, the graphs")
    return reader_text(lines, record.user_files)


def whole_story(record: SessionRecord, texts: Mapping[str, str]) -> str:
    """Return the text of each `full_code_for_*`, then the text of each graph and kernel."""
    stories = full_code.StoryWriter(record)
    parts = [stories.text_of(function.key) for function in _roots(record)]
    if not parts:
        return render(record)
    for graph in record.graphs:
        for part in graph.stages + graph.kernels:
            if part.file in texts:
                parts.append("\n".join(["", *python_source.heading(part.file, "="), "", texts[part.file]]))
    return "\n".join(parts)


def _roots(record: SessionRecord) -> List[FunctionRecord]:
    """Return the functions that are no resume functions."""
    return [function for function in record.functions if function.resume_of is None]


def _function(record: SessionRecord, function: FunctionRecord, indent: str) -> List[str]:
    frames = record.frames_of(function.key)
    name = " or ".join(function.resume_names[:2]) or function.display_name
    if len(function.resume_names) > 2:
        name = f"{name} or ... ({len(function.resume_names)} names, one for each version of its caller)"
    versions = _count(len(frames), "compiled version") if frames else "no compiled version"
    lines = [f"{indent}{name} ({function.shown_place}): {versions}"]
    for frame in frames:
        lines += _frame(record, frame, indent + "  ")
    for resume in record.resumes_of(function.key):
        lines += _function(record, resume, indent + "  ")
    return lines


def _frame(record: SessionRecord, frame: FrameRecord, indent: str) -> List[str]:
    does = ["calls " + _graph(name, record.graph(name)) for name in frame.graphs] or ["calls no graph"]
    if frame.resumes:
        does.append("goes on in " + " or ".join(call.name for call in frame.resumes))
    lines = _wrapped(f"{frame.compile_id}: {', '.join(does)}; source {frame.grade}", indent)
    shown = [text for text in (_in_short(guard) for guard in frame.guards) if text][:_MOST_CONDITIONS]
    rest = _count(len(frame.guards) - len(shown), "more guard")
    return lines + _wrapped("for " + ", ".join([*shown, rest]), indent + "     ")


def _in_short(guard: GuardRecord) -> str:
    """Return the guard in a word or two if it is on a value that a call passes; else nothing."""
    if isinstance(guard.test, TensorTest):
        return _tensor(guard.test)
    has_origin = guard.location is not None or guard.expression.startswith("L[")  # torch 2.6 may have no line
    is_of_argument = guard.kind in _OF_ARGUMENTS and guard.is_python and has_origin
    if not is_of_argument or guard.from_torch or isinstance(guard.test, NoDimensionMarks):
        return ""
    if len(guard.condition) > _WIDTH:
        return ""
    if isinstance(guard.test, ValueTest) and guard.test.type_name.isidentifier():
        return guard.test.comparison
    return guard.condition


def _tensor(test: TensorTest) -> str:
    """Write `a: float32 (10,)` for the conditions on a tensor; a dimension that may be anything is a star."""
    if not test.names_type:
        return ""
    expected = test.expected
    if None in expected.sizes:
        shape = "(" + ", ".join("*" if size is None else str(size) for size in expected.sizes) + ")"
    else:
        shape = repr(expected.sizes)
    words = [f"{test.subject}: {expected.dtype[len('torch.') :]} {shape}"]
    words += [expected.device] if expected.device not in ("", "cpu") else []
    return " ".join([*words, "requires grad"] if expected.requires_grad else words)


def _graph(name: str, graph: GraphRecord | None) -> str:
    if graph is None:
        return f"{name} (not to be found any more)"
    running = [part.stage for part in graph.stages + graph.kernels if part.runs or part.execution]
    return f"{name} (runs: {', '.join(dict.fromkeys(running)) or 'not found'})"


def _wrapped(text: str, indent: str) -> List[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "     ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
