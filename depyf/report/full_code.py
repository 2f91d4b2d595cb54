"""The whole story of one function in one file of valid Python, in reading order.

    the original                      as the user wrote it
    what sets its versions apart      where there are several
    for each compiled version         facts, then its transformed code; of later ones what differs
    for each resume function          the same again: original, versions, dispatcher
    the dispatcher                    how a call finds its version
    the guards                        of all that, as functions: those that set versions apart first

Code and guards that repeat with other numbers are folded (`statement_folds`, `condition_groups`): the files of the
transformed code have all of it.

The text is a pure function of the record: same record, same bytes.  It compiles as a module whatever the record holds;
what is no Python is shown as a comment.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Iterator, Sequence

from depyf.record.records import FrameRecord, FunctionRecord, SessionRecord
from depyf.record.vocabulary import DECOMPILED, DISASSEMBLY, FAILED, FROM_FILE, INTERRUPTED, RECOMPILE_LIMIT
from depyf.report.break_paths import Owners
from depyf.report.call_signature import Signature, passed_names, signature_of
from depyf.report.dispatcher import code_name, dispatcher, guard_name, not_shown, shown_name
from depyf.report.generated_names import terms_used
from depyf.report.guard_function import SHARED_GUARDS, guard_functions
from depyf.report.resume_text import lines_left, resume_title, why_without_version
from depyf.report.shortened_records import ShortPaths
from depyf.report.skip_reasons import limit_lines
from depyf.report.statement_folds import CodeLine, differences, filled_lists, fold_docstring, fold_statements
from depyf.report.version_headings import Facts, graph_lines
from depyf.report.version_table import version_table
from depyf.report.wrapper_notes import is_generated, shows_wrapper, spoken_title, title_apart, wrapper_lines
from depyf.text import python_source


def needs_file(session: SessionRecord, function: FunctionRecord) -> bool:
    """Return whether a function gets a file that it has not yet: compiled or skipped, and not a resume function."""
    has_story = bool(session.frames_of(function.key) or function.skips)
    return has_story and function.resume_of is None and function.full_code_file is None


class StoryWriter:
    """Writes the stories of a session; what all of them look up is prepared once."""

    def __init__(self, session: SessionRecord) -> None:
        self._session = session
        self._paths = ShortPaths.of_session(session)
        self._owners = Owners(session, self._paths.of)

    def text_of(self, function_key: str) -> str:
        """Return the text of `full_code_for_<function>_<n>.py`; KeyError when the session has no such function."""
        session, paths = self._session, self._paths
        function = paths.function(session.function(function_key))
        written: dict[str, None] = {}
        story = _story(session, function, Facts(session, paths, self._owners), paths, written)
        story += _guards(session, list(written), paths)
        code = [*_code_in(session, function, set()), *[line for line in story if line.startswith(SHARED_GUARDS)]]
        lines = [*_opening(session, function, terms_used("\n".join(code)), paths), *story]
        text = "\n".join(lines) + "\n"
        unchecked = [line for line in lines if line and line[0] != "#" and not isinstance(line, python_source.Checked)]
        if unchecked and not python_source.is_module("\n".join(unchecked)):
            # No piece is known to do this, but a .py file must be Python.
            text = "\n".join(python_source.comment(text)) + "\n"
        return text


# ---------------------------------------------------------------- the parts, in order


def _opening(session: SessionRecord, function: FunctionRecord, words: list[str], paths: ShortPaths) -> list[str]:
    versions = session.versions
    made_by = [("torch", versions.torch), ("Python", versions.python), ("depyf", versions.depyf)]
    text = [f"What torch.compile did to {title_apart(session, function)} ({function.shown_place}).", ""]
    text += _limits(session, function, paths)
    if not session.frames_of(function.key) and not function.earlier_versions:
        text.append("Dynamo compiled no version of it." + (" Below is why." if function.skips else ""))
    else:
        text += _guide(session, function)
    if session.import_folders:
        text += ["", f"Paths are those that Python imports; those of the program are in {session.import_folders[0]}."]
    text += _beside(session, function)
    text += ["", *words] if words else []
    text += ["", ", ".join(f"{name} {version}" for name, version in made_by if version)]
    return [line for item in text for part in item.split("\n") for line in python_source.wrapped_comment(part)]


def _limits(session: SessionRecord, function: FunctionRecord, paths: ShortPaths) -> list[str]:
    """Return that the function, or the rest of it after a graph break, has reached the limit on recompiles."""
    lines: list[str] = []
    waiting = {function.key: function}
    passed: set[str] = set()
    while waiting:
        key, one = waiting.popitem()
        passed.add(key)
        waiting.update((resume.key, resume) for resume in session.resumes_of(key) if resume.key not in passed)
        for skip in paths.function(one).skips if session.frames_of(key) else ():
            lines += [*limit_lines(shown_name(one), skip), ""] if skip.kind == RECOMPILE_LIMIT else []
    return lines


def _beside(session: SessionRecord, function: FunctionRecord) -> list[str]:
    """Return the other stories of the session, while they are few enough to be read as a list."""
    if len(session.stories) < 2 or function.full_code_file is None:
        return []
    if len(session.stories) > MOST_STORIES:
        return [
            "",
            "Other functions have stories of their own: see summary.txt, and full_code_for_*.py.",
        ]
    others = [one for one in session.stories if one.key != function.key]
    files = [f"  {one.full_code_file}: {title_apart(session, one)}{_left(session, one)}" for one in others]
    return ["", "Functions with stories of their own:", *files]


MOST_STORIES = 6


def _left(session: SessionRecord, function: FunctionRecord) -> str:
    return "" if session.frames_of(function.key) else " (not compiled)"


def _guide(session: SessionRecord, function: FunctionRecord) -> list[str]:
    text = [
        "Read it from top to bottom:",
        "  1. the original function;",
        "  2. each compiled version of it: why it was compiled, and the transformed code, which runs",
        f"     instead of the original{' and calls the compiled graphs' * _has_graph(session, function)};",
    ]
    if session.resumes_of(function.key):
        text.append("  3. each resume function (the rest of it after a graph break), in the same form;")
    number = len(text) - 1
    text.append(f"  {number}. the dispatcher: how a call finds its version;")
    text.append(f"  {number + 1}. the guards: a version is used only while all of its guards hold.")
    text.append("Lines and guards that repeat with other numbers are folded; the files named there have all lines.")
    text += _about_stepping(session, function)
    if function.earlier_versions:
        text.append(f"Not all of it: {not_shown(function)}.")
    return text


def _has_graph(session: SessionRecord, function: FunctionRecord) -> bool:
    """Return whether a version of the function has a graph; of one with resume functions that is not asked."""
    return bool(session.resumes_of(function.key)) or any(frame.graphs for frame in session.frames_of(function.key))


def _about_stepping(session: SessionRecord, function: FunctionRecord) -> list[str]:
    if all(frame.from_cache for frame in session.frames_of(function.key)):
        return [
            "This is for reading and does not run. It was compiled before anyone looked, and is read from Dynamo's",
            "cache: to see the reasons and step through the code, compile it inside depyf.prepare_debug.",
        ]
    return ["This is a copy, for reading: what runs, and where breakpoints go, are the files named beside the code."]


def _story(
    session: SessionRecord, function: FunctionRecord, facts: Facts, paths: ShortPaths, written: dict[str, None]
) -> list[str]:
    """Write all about `function` and, recursively, its resume functions that are not yet in `written`."""
    written[function.key] = None
    lines = _original(session, function)
    frames = [paths.frame(frame) for frame in session.frames_of(function.key)]
    if function.skips and not frames:
        return lines + _not_compiled(session, function, facts)
    signature = signature_of(function, frames)
    differences = version_table(frames, shown_name(function), paths)
    passed = passed_names(function, differences) if differences else ""
    differences += [f"  ({passed})"] if passed else []
    lines += ["", "", *python_source.heading("\n".join(differences), "-")] if differences else []
    codes: list[tuple[str, list[CodeLine]]] = []
    for number, frame in enumerate(frames, start=1):
        when = ", compiled before anyone looked" if frame.from_cache else ""
        title = f"{shown_name(function)}, compiled version {number} of {len(frames)}"
        title += f"   (compile id {frame.compile_id}{when})"
        lines += ["", "", *python_source.heading("\n".join([title, *facts.of(function, frame)]), "-"), ""]
        code = _folded(frame)
        lines += _transformed(frame, signature, code, codes[:1] + codes[1:][-_MOST_COMPARED:])
        codes.append((frame.file, code))
    for resume in session.resumes_of(function.key):
        if resume.key not in written:
            lines += _story(session, paths.function(resume), facts, paths, written)
    heading = python_source.heading(f"The dispatcher: what a call to {shown_name(function)} does now", "=")
    without = "" if frames or function.earlier_versions else why_without_version(session, function)
    return [*lines, "", "", *heading, "", *dispatcher(function, frames, signature, without)]


def _code_in(session: SessionRecord, function: FunctionRecord, passed: set[str]) -> Iterator[str]:
    """Yield the code in the story of `function`: no words about it, and no guards, which test values of the user's."""
    passed.add(function.key)
    yield from (function.source, function.written_in, *function.resume_names)
    for frame in session.frames_of(function.key):
        yield frame.source
        yield from (call.name for call in frame.resumes)
    for resume in session.resumes_of(function.key):
        if resume.key not in passed:
            yield from _code_in(session, resume, passed)


def _not_compiled(session: SessionRecord, function: FunctionRecord, facts: Facts) -> list[str]:
    has_raised = all(skip.kind in (FAILED, INTERRUPTED) for skip in function.skips)
    text = ["Dynamo compiled no version of it" + (":" if has_raised else ": it runs as it is, eagerly, because")]
    text += facts.of_skips(function)
    failed = {skip.compile_id for skip in function.skips if skip.compile_id}
    for graph in session.graphs:
        if graph.without_frame and graph.compile_id in failed:
            text += graph_lines(graph.name, graph)
    return ["", "", *python_source.heading("\n".join(text), "-")]


def _original(session: SessionRecord, function: FunctionRecord) -> list[str]:
    if function.resume_of is None:
        title = f"The original: {spoken_title(function)}   ({function.shown_place})"
    else:
        title = resume_title(session, function)
    is_compiled = bool(session.frames_of(function.key) or function.earlier_versions)
    notes = wrapper_lines(function, is_compiled)
    lines = ["", "", *python_source.heading("\n".join([title, *notes]), "="), ""]
    if function.original is not None:
        lines += _text(function.original.source, function.original.source_origin)
        return lines + (_compiled_wrapper(function, is_compiled) if shows_wrapper(function) else [])
    if function.written_in.strip():
        lines += python_source.comment("It is no definition of its own, but part of this:")
        lines += python_source.comment(textwrap.indent(function.written_in.strip("\n"), "    "))
        if not function.source.strip():
            return lines
        lines.append("# which, decompiled, is:")
    left = [] if function.resume_of is None else lines_left(session, function)
    if left:
        return lines + python_source.comment("\n".join(left))
    source = function.source
    if function.resume_of is not None:  # it has the docstring of the function that it continues
        source = "\n".join([line.text for line in fold_docstring(source.split("\n"))])
    return lines + _text(source, function.source_origin)


def _text(source: str, origin: str) -> list[str]:
    if origin in (FROM_FILE, DECOMPILED) and source.strip():
        return list(map(python_source.Checked, python_source.code_or_comment(source)))
    return python_source.comment(source.strip("\n")) if source.strip() else ["# (its source is not available)"]


def _compiled_wrapper(function: FunctionRecord, is_compiled: bool) -> list[str]:
    """Return the text that Dynamo compiled, or did not compile, where it is that of a wrapper around the original."""
    what = f"{function.display_name}, as Python generated it"
    if not is_generated(function):
        what = f"the decorator {function.decorators[0].function} of {function.display_name}"
    title = f"{'What Dynamo compiled' if is_compiled else 'What Dynamo was to compile'}: {what}"
    heading = python_source.heading(f"{title}   ({function.file}:{function.first_line})", "-")
    return ["", "", *heading, "", *_text(function.source, function.source_origin)]


# ---------------------------------------------------------------- transformed code

_SHORT = 8  # lines; of a version that is no longer all is shown
_MOST_COMPARED = 3  # versions, besides the first, that a later one is compared with
_MOST_DIFFERENT = 0.8  # of the lines of a version: with more differences than that, all of it is shown


def _folded(frame: FrameRecord) -> list[CodeLine]:
    return fold_statements(frame.source.rstrip("\n").split("\n"))


def _transformed(
    frame: FrameRecord, signature: Signature, code: list[CodeLine], before: list[tuple[str, list[CodeLine]]]
) -> list[str]:
    """Return the transformed code as a function called like its file, or what differs from the nearest of `before`."""
    compared = before if len(code) > _SHORT and frame.rung != DISASSEMBLY else []
    found = [(differences(earlier_code, code), file) for file, earlier_code in reversed(compared)]
    changes, earlier = min(found, key=lambda one: len(one[0]), default=([], ""))
    if found and len(changes) <= _MOST_DIFFERENT * len(code):
        text = [f"The code is that of {earlier}, but for these lines of both files:" if changes else f"As {earlier}."]
        text += [f"  {line}" for line in changes]
        return [line for one in text for line in python_source.wrapped_comment(one)]
    name = code_name(frame)
    for lines in ([line.text for line in code], frame.source.split("\n")):
        renamed = _with_name("\n".join(lines), name)
        if renamed is not None:
            shown = filled_lists(renamed.strip("\n").split("\n"), python_source.WIDTH)
            lines = [_in_width(line) for line in shown]
            if len(code) <= _SHORT and _does_nothing(renamed):
                lines.append("    # returns None: nothing is left to do")
            return list(map(python_source.Checked, lines))
    lines = python_source.bracketed("def " + name, signature.parameters, ":")
    lines += ["    # Not decompiled: this is Dynamo's bytecode."]
    return lines + python_source.comment(frame.source.strip("\n"), "    ") + ["    ..."]


def _does_nothing(source: str) -> bool:
    """Return whether the body of a function is its docstring alone."""
    found = python_source.definition(source)
    if found is None or found.col_offset:
        return False
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in found.body)


# ---------------------------------------------------------------- guards


def _guards(session: SessionRecord, keys: Sequence[str], paths: ShortPaths) -> list[str]:
    """Return the guards of the functions with these keys, each in the order of its versions."""
    lines: list[str] = []
    for key in keys:
        function, frames = session.function(key), session.frames_of(key)
        if not frames:
            continue
        name = shown_name(function)
        title = f"The guards of {name}: a version is used only while all of its guards hold"
        if len(frames) > 1:
            title += "\nFirst those that not all versions have, then those that all of them share."
        lines += ["", "", *python_source.heading(title, "="), ""]
        versions = [(frame, guard_name(frame, function)) for frame in frames]
        functions = guard_functions(versions, python_source.identifier(name), signature_of(function, frames), paths)
        lines += map(python_source.Checked, functions)
    return lines


# ---------------------------------------------------------------- names in code

_HEAD = re.compile(r"(?P<head> *def __transformed_code_\w+)\((?P<parameters>[\w *,=.]*)\):$")


def _in_width(line: str) -> str:
    """Break the first line of the transformed code where the longer name makes it too wide."""
    found = _HEAD.match(line) if len(line) > python_source.WIDTH else None
    return "\n".join(python_source.bracketed(found["head"], found["parameters"], ":")) if found else line


_DEFINITION = re.compile(r"^(?:async )?def (\w+)(?=\()", re.MULTILINE)


def _with_name(source: str, name: str) -> str | None:
    """Return `source` with its one function called `name`; None when it is no such text."""
    heads = _DEFINITION.findall(source)
    if len(heads) == 1:  # the usual forms: no need to parse
        (head,) = heads
        text = _DEFINITION.sub(lambda found: found[0][: -len(head)] + name, source, count=1)
        if head.startswith(python_source.ENCLOSING):
            text = _with_inner_name(source, head[len(python_source.ENCLOSING) :], name)
        if text:
            return text if python_source.is_module(text) else None
    node = python_source.definition(source)
    if node is None:
        return None
    lines = source.split("\n")
    # From 3.8 on `lineno` is the line of `def`, not of a decorator.
    line = lines[node.lineno - 1]
    start = line.index("def ", node.col_offset) + len("def ")
    if not line[start:].startswith(node.name):
        return None
    lines[node.lineno - 1] = line[:start] + name + line[start + len(node.name) :]
    if node.col_offset:  # inside its enclosing scope, which returns it
        end = " " * node.col_offset + "return "
        lines = [end + name if one == end + node.name else one for one in lines]
    text = "\n".join(lines)
    return text if python_source.is_module(text) else None


def _with_inner_name(source: str, old: str, new: str) -> str:
    """Rename the function inside the function around it, which returns it; empty where that is not as usual."""
    inner = re.compile(rf"^(    (?:async )?def ){re.escape(old)}(?=\()", re.MULTILINE)
    returned = f"\n    return {old}\n"
    if len(inner.findall(source)) != 1 or source.count(returned) != 1:
        return ""
    return inner.sub(lambda found: found[1] + new, source).replace(returned, f"\n    return {new}\n")
