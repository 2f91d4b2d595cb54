"""The whole story of one function in one file of valid Python, in reading order.

    the original                      as the user wrote it
    for each compiled version         its guards as a function, then its transformed code
    for each resume function          the same again: original, versions, dispatcher
    the dispatcher                    how a call finds its version

The text is a pure function of the record: same record, same bytes.  It compiles as a module whatever the
record holds; what is no Python is shown as a comment.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import Sequence, Tuple

from depyf.record import FrameRecord, FunctionRecord, GraphRecord, ResumeCall, SessionRecord, StageRecord
from depyf.report import python_text
from depyf.report.guard_function import guard_function
from depyf.report.signature import Signature, signature_of
from depyf.report.why_not import break_lines, recompile_lines, skip_lines


def render(session: SessionRecord, function_key: str) -> str:
    """Text of `full_code_for_<function>_<n>.py`; KeyError when the session has no such function."""
    function = session.function(function_key)
    story = _story(session, function, {function_key})
    lines = [*_opening(session, function, _words_used("\n".join(story))), *story]
    text = "\n".join(lines) + "\n"
    if not python_text.is_module("\n".join([line for line in lines if not isinstance(line, python_text.Checked)])):
        # No piece is known to do this, but a file that says it is Python must be.
        text = "\n".join(python_text.comment(text)) + "\n"
    return text


# ---------------------------------------------------------------- the parts, in order


def _opening(session: SessionRecord, function: FunctionRecord, words: list[str]) -> list[str]:
    versions = session.versions
    made_by = [("torch", versions.torch), ("Python", versions.python), ("depyf", versions.depyf)]
    place = _place(function.file, function.first_line)
    text = [f"What torch.compile did to {function.qualified_name} ({place}).", ""]
    if not session.frames_of(function.key) and not function.earlier_versions:
        text.append("Dynamo compiled no version of it." + (" Below is why." if function.skips else ""))
    else:
        text += _guide(session, function)
    text += ["", *words] if words else []
    text += ["", ", ".join(f"{name} {version}" for name, version in made_by if version)]
    return [line for item in text for line in python_text.comment(item)]


def _guide(session: SessionRecord, function: FunctionRecord) -> list[str]:
    text = [
        "Read it from top to bottom:",
        "  1. the original function;",
        "  2. each compiled version of it: the guards (it is used only while all of them hold), then the",
        "     transformed code, which runs instead of the original and calls the compiled graphs;",
    ]
    if session.resumes_of(function.key):
        text.append("  3. each resume function (the rest of it after a graph break), in the same form;")
        text.append("  4. the dispatcher: how a call finds its version.")
    else:
        text.append("  3. the dispatcher: how a call finds its version.")
    text += _about_stepping(session, function)
    if function.earlier_versions:
        text.append(f"Not all of it: {_not_shown(function)}.")
    return text


def _about_stepping(session: SessionRecord, function: FunctionRecord) -> list[str]:
    if all(frame.from_cache for frame in session.frames_of(function.key)):
        return [
            "This is for reading and does not run. It was compiled before anyone looked, and is read from Dynamo's",
            "cache: to see the reasons and step through the code, compile it inside depyf.prepare_debug.",
        ]
    return ["This file is for reading and does not run; breakpoints go into the files named beside the code."]


def _not_shown(function: FunctionRecord) -> str:
    if function.earlier_versions == 1:
        return "1 version compiled before this session is not shown"
    return f"{function.earlier_versions} versions compiled before this session are not shown"


# What Dynamo writes into frames, and what it is for.
_DYNAMO_WORDS = (
    ("record_pregraph_bytecode_enter", "record_pregraph_bytecode_enter/exit: torch times the lines before the graph"),
    ("__resume_at_", "__resume_at_<offset>_<n>: the rest of a function, from that offset of its bytecode on"),
    ("([], []", "[], [] handed to it: values of outer frames, for graph breaks inside inlined functions"),
    (
        "__comprehension_",
        "__comprehension_<function>_at_<line>_<n>: the comprehension of that line; it runs uncompiled",
    ),
    ("PyCodegen.pop_null", "PyCodegen.pop_null's lambda, called: takes an empty entry off the interpreter's stack"),
    (".__closure__", "(lambda: x).__closure__: the variable x itself, which closures share, not its value"),
    ("x = x", "x = x: Dynamo stores a variable that closures share once more, as it is"),
    ("___stack0", "___stack<i>: a value that the original had at hand, under no name, at the graph break"),
)


def _words_used(text: str) -> list[str]:
    stores_itself = ".__closure__" in text and any(
        name.strip() == value for name, _, value in [line.partition(" = ") for line in text.split("\n")]
    )
    found = [
        f"  {meaning}"
        for word, meaning in _DYNAMO_WORDS
        if (stores_itself if word == "x = x" else word in text)
    ]
    return ["Words of Dynamo's in the code:", *found] if found else []


def _story(session: SessionRecord, function: FunctionRecord, told: set[str]) -> list[str]:
    """Everything about `function` and, recursively, its resume functions that are not yet in `told`."""
    lines = _original(session, function)
    frames = session.frames_of(function.key)
    if function.skips and not frames:
        return lines + _not_compiled(session, function)
    signature = signature_of(function, frames)
    for number, frame in enumerate(frames, start=1):
        title = f"{_shown_name(function)}, compiled version {number} of {len(frames)}"
        lines += _version(session, function, frame, signature, title)
    for resume in session.resumes_of(function.key):
        if resume.key not in told:
            told.add(resume.key)
            lines += _story(session, resume, told)
    return lines + _dispatcher(function, frames, signature)


def _not_compiled(session: SessionRecord, function: FunctionRecord) -> list[str]:
    runs = all(skip.kind == "failed" for skip in function.skips)
    text = ["Dynamo never compiled this:" if runs else "Dynamo never compiled this: it runs as it is, eagerly, because"]
    text += [line for skip in function.skips for line in skip_lines(skip, function)]
    failed = {skip.compile_id for skip in function.skips if skip.compile_id}
    for graph in session.graphs:
        if graph.without_frame and graph.compile_id in failed:
            text += _graph(graph.name, graph)
    return ["", "", *python_text.heading("\n".join(text), "-")]


def _original(session: SessionRecord, function: FunctionRecord) -> list[str]:
    place = _place(function.file, function.first_line)
    if function.resume_of is None:
        title = f"The original: {function.qualified_name}   ({place})"
    else:
        whole = "".join(one.name for one in session.functions if one.key == function.resume_of)
        title = f"Resume function {_shown_name(function)}   ({place})\n"
        title += f"What is left of {whole} after a graph break."
        if len(function.resume_names) > 1:
            title += f"\nIt has {len(function.resume_names)} names, one for each version of its caller: "
            title += _few_names(function.resume_names)
        if function.source_origin == "decompiled":
            title += "\nDynamo made it as bytecode; this is its decompiled source."
    lines = ["", "", *python_text.heading(title, "="), ""]
    if function.written_in.strip():
        lines += python_text.comment("It is no definition of its own, but part of this:")
        lines += python_text.comment(textwrap.indent(function.written_in.strip("\n"), "    "))
        if not function.source.strip():
            return lines
        lines.append("# which, decompiled, is:")
    if function.source_origin in ("file", "decompiled") and function.source.strip():
        return lines + python_text.code_or_comment(function.source)
    if function.source.strip():
        return lines + python_text.comment(function.source.strip("\n"))
    return lines + ["# (its source is not available)"]


def _version(
    session: SessionRecord, function: FunctionRecord, frame: FrameRecord, signature: Signature, title: str
) -> list[str]:
    """One compiled version: facts, guards, code."""
    when = ", compiled before anyone looked" if frame.from_cache else ""
    facts = [f"{title}   (compile id {frame.compile_id}{when})", *_facts(session, function, frame)]
    lines = ["", "", *python_text.heading("\n".join(facts), "-"), ""]
    lines += map(python_text.Checked, guard_function(frame, _guard_name(frame), signature, function.file))
    lines += ["", ""]
    return lines + _transformed(frame, signature)


def _facts(session: SessionRecord, function: FunctionRecord, frame: FrameRecord) -> list[str]:
    """What a reader should know about a version before reading its code."""
    facts = recompile_lines(frame, function)
    if frame.compile_id.startswith("!"):
        facts.append("  from:   compiled autograd: the original is a backward that it traced")
    facts.append(f"  file:   {frame.file}")
    facts.append(f"  runs:   {_INSTALLED.get(frame.installed, frame.installed)}")
    if frame.linked_to:
        facts[-1] = f"  runs:   the code of {frame.linked_to}, linked there earlier"
    facts += _proof(frame)
    for name in frame.graphs:
        facts += _graph(name, session.graph(name))
    for graph_break in frame.graph_breaks:
        facts += break_lines(graph_break, function)
    if frame.from_cache and frame.resumes:
        facts.append("  break:  why the graph broke is not known: torch tells it only while it compiles")
    for call in frame.resumes:
        known = _resumes_at(session, call)
        facts.append(f"  then:   goes on in {call.name}{known}")
    return facts


def _resumes_at(session: SessionRecord, call: ResumeCall) -> str:
    for function in session.functions:
        if function.key == call.function:
            return f"   (resumes at {os.path.basename(function.file)}:{function.first_line})"
    return " (never reached so far)"


_INSTALLED = {
    "replaced": "the code below, recompiled, in place of Dynamo's bytecode",
    "relabelled": "Dynamo's own bytecode, with the lines of that file",
    "untouched": "Dynamo's own bytecode, not linked to that file",
}


def _proof(frame: FrameRecord) -> list[str]:
    if frame.grade == "PROVED":
        return ["  proof:  PROVED: the code below does exactly what Dynamo's bytecode does"]
    if frame.grade == "PROVED_UNDER":
        facts = ["  proof:  PROVED_UNDER: the code below does what Dynamo's bytecode does, assuming that"]
        return facts + [f"            - {assumption}" for assumption in frame.assumptions]
    if frame.rung == "disassembly":
        facts = [f"  proof:  {frame.grade}: no source was found that does the same; below is the bytecode"]
    else:
        facts = [f"  proof:  {frame.grade}: the code below may differ from what runs"]
    return facts + [f"            {line}" for line in frame.divergence.splitlines()]


def _graph(name: str, graph: GraphRecord | None) -> list[str]:
    if graph is None:
        return [f"  graph:  {name} (no file)"]
    parts = sorted(graph.stages + graph.kernels, key=lambda part: not part.runs)
    files = [part.file + _remark(part) for part in parts]
    files += [f"{part.file}   ({_TRIED.get(part.stage, 'autotuning tried it')})" for part in graph.candidates]
    files += [f"(no {stage}: torch had the result in its cache, the passes did not run)" for stage in graph.skipped]
    files += [f"(torch kept no text of {', '.join(graph.lost)})"] if graph.lost else []
    if not files:
        return [f"  graph:  {name} (no file)"]
    margin = " " * len(f"  graph:  {name} -> ")
    return [f"  graph:  {name} -> {files[0]}"] + [margin + file for file in files[1:]]


_TRIED = {"autotuning": "what autotuning tried"}


def _remark(part: StageRecord) -> str:
    words = [] if part.piece is None else [f"piece {part.piece}"]
    words += [part.made_for] * bool(part.made_for) + ["runs"] * part.runs
    return f"   ({', '.join(words)})" if words else ""


# ---------------------------------------------------------------- transformed code and dispatcher


def _transformed(frame: FrameRecord, signature: Signature) -> list[str]:
    """The transformed code as a function called like its file."""
    name = _code_name(frame)
    renamed = _with_name(frame.source, name)
    if renamed is not None:
        return list(map(python_text.Checked, renamed.strip("\n").split("\n")))
    lines = [f"def {name}({signature.parameters}):"]
    lines += ["    # Not decompiled: this is Dynamo's bytecode."]
    return lines + python_text.comment(frame.source.strip("\n"), "    ") + ["    ..."]


_DEFINITION = re.compile(r"^(?:async )?def (\w+)(?=\()", re.MULTILINE)


def _with_name(source: str, name: str) -> str | None:
    """`source` with its one function called `name`; None when it is no such text."""
    heads = _DEFINITION.findall(source)
    if len(heads) == 1:  # the usual forms: no need to parse
        (head,) = heads
        text = _DEFINITION.sub(lambda found: found[0][: -len(head)] + name, source, count=1)
        if head.startswith(python_text.ENCLOSING):
            text = _with_inner_name(source, head[len(python_text.ENCLOSING) :], name)
        if text:
            return text if python_text.is_module(text) else None
    node = python_text.definition(source)
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
    return text if python_text.is_module(text) else None


def _with_inner_name(source: str, old: str, new: str) -> str:
    """The function inside its enclosing scope, which returns it, called `new`; empty where that is not as usual."""
    inner = re.compile(rf"^(    (?:async )?def ){re.escape(old)}(?=\()", re.MULTILINE)
    returned = f"\n    return {old}\n"
    if len(inner.findall(source)) != 1 or source.count(returned) != 1:
        return ""
    return inner.sub(lambda found: found[1] + new, source).replace(returned, f"\n    return {new}\n")


def _dispatcher(
    function: FunctionRecord, frames: Tuple[FrameRecord, ...], signature: Signature
) -> list[str]:
    shown = _shown_name(function)
    lines = ["", "", *python_text.heading(f"The dispatcher: what a call to {shown} does now", "="), ""]
    body = []
    if len(frames) > 1:
        body.append("    # Dynamo tries the version it used last first; that matters only where two fit.")
    for frame in frames:
        body.append(f"    if {_guard_name(frame)}({', '.join(signature.names)}):")
        body.append(f"        return {_code_name(frame)}({signature.call})")
    if function.earlier_versions:
        body.append(f"    # {_not_shown(function)}; a call may find such a version, too.")
    if any(skip.kind == "recompile limit" for skip in function.skips):
        body.append("    # No version fits: the original runs. Dynamo has reached its limit and compiles no more.")
    elif frames or function.earlier_versions:
        body.append("    # No version fits: Dynamo compiles one more for these arguments and runs that, or,")
        body.append("    # past its limit on recompiles, the original.")
    else:
        body.append("    # Dynamo never compiled this: it runs as it is, or was not called yet.")
    body += python_text.comment("\n".join(_gave_up(function)), "    ") if function.skips else []
    body.append("    ...")
    name, *others = _called_as(function)
    lines += [f"def {name}({signature.parameters}):", *body]
    if others:
        lines += ["", "", "# The same function, under one more name for each version of its caller."]
    return lines + _assigned(others, name)


def _assigned(names: Sequence[str], value: str) -> list[str]:
    """`a = b = value`, as many names to a statement as fit the width."""
    lines: list[str] = []
    for name in names:
        longer = f"{lines[-1][: -len(value)]}{name} = {value}" if lines else ""
        if lines and len(longer) <= python_text.WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{name} = {value}")
    return lines


def _gave_up(function: FunctionRecord) -> list[str]:
    text = ["For some arguments Dynamo compiled nothing, because"]
    return text + [line for skip in function.skips for line in skip_lines(skip, function)]


# ---------------------------------------------------------------- names


def _code_name(frame: FrameRecord) -> str:
    stem = frame.file[: -len(".py")] if frame.file.endswith(".py") else frame.file
    return python_text.identifier(stem)


def _guard_name(frame: FrameRecord) -> str:
    name = _code_name(frame)
    prefix = "__transformed_code_"
    return "__guard_" + (name[len(prefix) :] if name.startswith(prefix) else name.lstrip("_"))


def _called_as(function: FunctionRecord) -> list[str]:
    """The names under which code calls `function`."""
    return python_text.identifiers(function.resume_names or (function.name,))


def _shown_name(function: FunctionRecord) -> str:
    return function.resume_names[0] if function.resume_names else function.name


def _few_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} ... {names[-1]}"


def _place(file: str, line: int) -> str:
    return f"{file}:{line}"
