"""Make a record of the events of a trace log: what `session.recording` does while a program runs.

A log has no code objects, so there is no transformed code, and what only the running program shows is missing: which
code ran, the values that failed a guard, the calls that led to each node. `LACKING` states all of it. Nothing is read
but the log: no file that it names, and no module that happens to be imported here.
"""

from __future__ import annotations

import dataclasses
import json
import re
from types import MappingProxyType
from typing import Any, Callable, Dict, List, Sequence, Tuple

from depyf.line_table.graph_lines import read_graph
from depyf.problems import Problems
from depyf.record.records import (
    FailedGuard,
    FrameRecord,
    GuardRecord,
    Location,
    NodeSource,
    SessionRecord,
    Versions,
)
from depyf.record.vocabulary import UNPROVED, UNTOUCHED
from depyf.text.python_source import comment
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.frames.compilations import CodePlace, Compilation, Compilations, failure_in
from depyf.torch_hooks.frames.graph_breaks import is_announcement, read_graph_break
from depyf.torch_hooks.frames.skip_records import SOFT_FAILURES, read_attempt
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.stages import CAPTURED_EVENT, GRAPH_EVENTS, KERNEL_EVENT
from depyf.torch_hooks.guards.failed_guards import failed_guards, failures
from depyf.torch_hooks.guards.frame_values import Variables
from depyf.torch_hooks.guards.guard_tree import describe_guards_of
from depyf.torch_hooks.guards.recompile_reasons import in_words, read_reasons
from depyf.torch_hooks.guards.specializations import SPECIALIZATION_EVENT, read_specialization
from depyf.torch_hooks.internals.compile_phases import PHASE_EVENT, CompilePhases
from depyf.torch_hooks.internals.stable_names import resumed_name
from depyf.torch_hooks.internals.structured_trace import GUARDS_EVENT, START_EVENT, TraceEvent
from depyf.torch_hooks.trace_logs.log_events import LogReader
from depyf.torch_hooks.trace_logs.log_functions import LogFunctions
from depyf.torch_hooks.trace_logs.log_sources import KnownLines, is_of_torch
from depyf.version import __version__

LACKING = (
    "the transformed code: a trace log has no bytecode, of resume functions alone a listing of it",
    "the source of the functions: a trace log has single lines of it, without their indentation",
    "which graphs and kernels ran: a trace log ends where the compilation ends",
    "the values of the call that failed a guard: a trace log names the guard alone",
    "the calls that led to each node: a trace log has the innermost line of the program",
    "functions that Dynamo skipped without an attempt to compile them",
)
_BREAK_EVENT, _RECOMPILE_EVENT, _VERSION_EVENT = "dynamo_graph_break_reason", "recompile_reasons", "torch_version"
_METRICS = ("compilation_metrics", "bwd_compilation_metrics")
_LISTING = "_MODIFIED_BYTECODE"
_KINDS = {START_EVENT, GUARDS_EVENT, _BREAK_EVENT, _RECOMPILE_EVENT, _VERSION_EVENT, PHASE_EVENT, *_METRICS}
_KINDS |= {SPECIALIZATION_EVENT, *GRAPH_EVENTS}
_MOST_TEXT = 96 << 20  # characters of graphs, guards and listings: what is more is left out
_PARAMETER = re.compile(
    r"source=L\['(?P<name>\w+)'\], accessed_by=FrameLocalsGuardAccessor\("
    r"key='\w+', framelocals_idx=(?P<index>\d{1,6})\)"
)
_OBJECT_ID = re.compile(r"(?<=, )\d{9,}(?=\))")  # of another process: here it may be that of any object
_NOTHING: Any = MappingProxyType({})


def is_read(kind: str) -> bool:
    """Return whether events of that kind are read."""
    return kind in _KINDS or kind.endswith(_LISTING)


@dataclasses.dataclass
class _Attempt:
    """What a log has of one compilation, beside what `Compilation` holds."""

    called_from: Location | None = None
    guards: str | None = None  # the text of its guards, once there is a frame
    listing: str = ""


class LogRecording:
    """The parts of a record while a log is read."""

    def __init__(self, folder: OutputFolder, problems: Problems, reader: LogReader) -> None:
        self._folder, self._problems, self._reader = folder, problems, reader
        self._compilations = Compilations()
        self._attempts: Dict[int, _Attempt] = {}  # by the id of a compilation, which lives as long as this
        self._graphs = Graphs(folder, problems)
        self._lines = KnownLines()
        self._phases = CompilePhases()
        self._torch = ""
        self._text = 0  # characters that were kept
        self._left_out = 0  # events that were not
        self._starts: Dict[CodePlace, List[Location | None]] = {}  # functions -> the lines that called them
        self._guards: Dict[str, Sequence[GuardRecord]] = {}
        handlers: Dict[str, Callable[[Compilation, TraceEvent], None]] = {
            _BREAK_EVENT: self._add_break,
            _RECOMPILE_EVENT: self._add_reasons,
            GUARDS_EVENT: self._add_guards,
            SPECIALIZATION_EVENT: self._add_specialization,
            **dict.fromkeys(_METRICS, self._add_metrics),
            **dict.fromkeys(GRAPH_EVENTS, self._add_stage),
        }
        self._handlers = handlers

    # -- events

    def add(self, event: TraceEvent) -> None:
        """Add an event; what cannot be read of it is a problem of the record."""
        if event.kind == _VERSION_EVENT:
            found = _json(event.payload)
            self._torch = str(found.get("pytorch_version", ""))[:100]
        elif event.kind == PHASE_EVENT:
            self._phases.add(event.compile_id, event.payload)
        elif event.kind == START_EVENT:
            self._start(event)
        else:
            self._text += len(event.payload)
            if self._text > _MOST_TEXT and event.kind not in _METRICS:
                self._left_out += 1
                return
            if event.kind == _RECOMPILE_EVENT:  # comes just before the start
                self._compilations.start(event.compile_id)
            compilation = self._compilations.of(event.compile_id)
            if event.kind.endswith(_LISTING):
                self._of(compilation).listing = event.payload
            handler = self._handlers.get(event.kind)
            if handler is not None:
                with self._problems.shield(f"reading {event.kind} of a log"):
                    handler(compilation, event)

    def _of(self, compilation: Compilation) -> _Attempt:
        return self._attempts.setdefault(id(compilation), _Attempt())

    def _start(self, event: TraceEvent) -> None:
        compilation = self._compilations.start(event.compile_id)
        stack = self._reader.stack(event.data.get("stack"))
        self._lines.add(stack)
        if not stack:
            return
        function = CodePlace(stack[-1].function, stack[-1].file, stack[-1].line)
        callers = [place for place in stack[:-1] if not is_of_torch(place.file)]
        compilation.function = function
        self._of(compilation).called_from = callers[-1] if callers else None
        self._starts.setdefault(function, []).append(callers[-1] if callers else None)

    def _add_break(self, compilation: Compilation, event: TraceEvent) -> None:
        if is_announcement(event.payload):
            return
        found = read_graph_break(event.payload)
        stack = tuple([place for place in found.stack if not is_of_torch(place.file)])
        self._lines.add([*stack, *([found.location] if found.location else [])])
        own = self._own_call(stack, compilation.function)
        stack, own = (stack, None) if own is None else (stack[own:], 0)  # not what called the function
        found = dataclasses.replace(found, stack=stack, own_call=own)
        if found not in compilation.breaks:
            compilation.breaks.append(found)

    @staticmethod
    def _own_call(stack: Tuple[Location, ...], function: CodePlace | None) -> int | None:
        if function is None:
            return None
        names = {function.name, resumed_name(function.name)}
        own = [at for at, place in enumerate(stack) if place.file == function.file and place.function in names]
        return own[-1] if own else None

    def _add_reasons(self, compilation: Compilation, event: TraceEvent) -> None:
        reasons = read_reasons(_OBJECT_ID.sub("0", event.payload))
        compilation.recompile_reasons.extend(in_words(reasons))
        for reason in reasons:
            self._lines.add(reason.cause.calls)
        compilation.failures += failures(reasons, Variables("", _NOTHING, _NOTHING))

    def _add_guards(self, compilation: Compilation, event: TraceEvent) -> None:
        self._of(compilation).guards = _OBJECT_ID.sub("0", event.payload)
        self._name_graph(compilation)

    def _add_specialization(self, compilation: Compilation, event: TraceEvent) -> None:
        stack = [place for place in self._reader.stack(event.data.get("user_stack")) if not is_of_torch(place.file)]
        self._lines.add(stack)
        place = stack[-1] if stack else None
        compilation.specialized.append((event.attempt, read_specialization(event.data, place)))

    def _add_metrics(self, compilation: Compilation, event: TraceEvent) -> None:
        compilation.timings[event.kind] = {
            name: value for name, value in event.data.items() if type(value) in (int, float)
        }
        compilation.failure = compilation.failure or failure_in(event.data)
        file, line = event.data.get("fail_user_frame_filename"), event.data.get("fail_user_frame_lineno")
        if isinstance(file, str) and isinstance(line, int):
            compilation.failed_at = Location(file, line, code=self._lines.code(file, line))
        self._name_graph(compilation)

    def _add_stage(self, compilation: Compilation, event: TraceEvent) -> None:
        if event.kind == KERNEL_EVENT:
            event = dataclasses.replace(event, data={})  # it names a file of the machine that wrote the log
        if compilation.graph is None:
            compilation.hold(event)
        else:
            self._graphs.add(compilation.graph, event)
        if event.kind == CAPTURED_EVENT:
            names: Dict[Location, List[str]] = {}
            for node in read_graph(event.payload):
                if node.place is not None:
                    names.setdefault(node.place, []).append(node.name)
            self._lines.add(names)
            compilation.sources = tuple([NodeSource((place,), tuple(nodes)) for place, nodes in names.items()])

    def _name_graph(self, compilation: Compilation) -> None:
        if compilation.graph is None and compilation.waiting:
            stem = f"graph_{file_stem(compilation.compile_id or 'without_frame')}"
            name = f"graph_{compilation.compile_id.replace('/', '_')}" if compilation.compile_id else stem
            name = name if re.fullmatch(r"\w+", name) else stem
            taken = {graph.name for graph in self._graphs.records}
            compilation.graph = self._graphs.new(
                name if name not in taken else self._graphs.free_name(name), compilation.compile_id
            )
            compilation.graph.sources = compilation.sources
            if self._of(compilation).guards is None:
                compilation.graph.without_frame = "the log has no guards of its compilation"
            for event in compilation.take_waiting():
                self._graphs.add(compilation.graph, event)

    # -- the result

    def record(self, rank: int | None, world_size: int | None) -> SessionRecord:
        """Write the rest of the files; return the record."""
        for compilation in self._compilations.all:
            self._name_graph(compilation)
        functions = LogFunctions(self._starts, self._lines)
        frames = [self._frame(one, functions) for one in self._compilations.all if self._is_frame(one)]
        skips: Dict[str, List[Any]] = {}
        for one in self._compilations.all:
            if not self._is_frame(one) and one.function is not None and _METRICS[0] in one.timings:
                fail_type = one.failure[0] if one.failure else ""
                found = read_attempt(one, raised=fail_type not in SOFT_FAILURES and not one.breaks)
                skips.setdefault(functions.key(one.function), []).append(found)
        self._graphs.finish()
        records = functions.records(skips)
        if self._left_out:
            limit = _MOST_TEXT >> 20
            self._problems.lines.append(f"the log has more than {limit} MB of text: {self._left_out} events left out")
        if self._reader.is_cut:
            self._problems.lines.append("the log is cut off, or has lines that cannot be read")
        program = [place.file for place in self._starts if not is_of_torch(place.file)]
        return SessionRecord(
            versions=Versions(__version__, "", self._torch),
            functions=records,
            frames=tuple(functions.linked(frames)),
            graphs=self._graphs.records,
            files=tuple(sorted(self._folder.files)),
            problems=tuple(self._problems.lines),
            rank=rank,
            world_size=world_size,
            import_folders=self._lines.import_folders(program),
            not_offered=LACKING,
            from_log=True,
        )

    def timings(self) -> Dict[str, Any]:
        """Return what torch measured, as timings.json holds it."""
        known = [{"compile_id": one.compile_id, **one.timings} for one in self._compilations.all]
        spans = {one: self._phases.of(one) for one in self._phases.compile_ids}
        return {"compilations": [{**one, "phases": spans.pop(str(one["compile_id"]), [])} for one in known]}

    def _is_frame(self, compilation: Compilation) -> bool:
        return self._of(compilation).guards is not None and compilation.function is not None

    def _frame(self, compilation: Compilation, functions: LogFunctions) -> FrameRecord:
        assert compilation.function is not None
        attempt, place = self._of(compilation), compilation.function
        guards = self._guards_of(attempt.guards or "", place.file)
        self._guards[compilation.compile_id] = guards
        failed: Tuple[FailedGuard, ...] = ()
        with self._problems.shield("finding why a frame of a log was compiled again"):
            found = failed_guards(compilation.failures, lambda one: self._guards.get(one, ()))
            failed = tuple([dataclasses.replace(one, location=self._whole(one.location)) for one in found])
        stem = "__transformed_code_{}_for_" + file_stem(place.name).replace("{", "").replace("}", "") + ".py"
        index = self._folder.number(stem)
        text = "".join(f"{line}\n" for line in _listed(attempt.listing))
        self._folder.write(stem.format(index), text)
        return FrameRecord(
            compile_id=compilation.compile_id,
            function=functions.key(place),
            index=index,
            file=stem.format(index),
            source=text,
            installed=UNTOUCHED,
            grade=UNPROVED,
            divergence="a trace log has no bytecode",
            guards=guards,
            graphs=() if compilation.graph is None else (compilation.graph.name,),
            graph_breaks=tuple(compilation.breaks),
            recompile_reasons=tuple(compilation.recompile_reasons),
            failed_guards=failed,
            called_from=attempt.called_from if compilation.recompile_reasons else None,
            specialized=compilation.kept_specializations(),
        )

    def _guards_of(self, text: str, file: str) -> Sequence[GuardRecord]:
        found: Sequence[GuardRecord] = ()
        parameters = sorted({(int(one["index"]), one["name"]) for one in _PARAMETER.finditer(text)})
        with self._problems.shield("reading the guards of a log"):
            found = describe_guards_of(text, file, tuple([name for _, name in parameters]))
        return tuple([self._completed(guard) for guard in found])

    def _completed(self, guard: GuardRecord) -> GuardRecord:
        place = self._whole(guard.location)
        if place is None or place is guard.location:
            return guard
        return dataclasses.replace(guard, location=place, from_torch=guard.from_torch or is_of_torch(place.file))

    def _whole(self, place: Location | None) -> Location | None:
        if place is None:
            return None
        file = self._lines.full_name(place.file)
        return place if file == place.file else dataclasses.replace(place, file=file)


def _listed(listing: str) -> List[str]:
    head = "The transformed code is not in a trace log." if not listing else "Dynamo's bytecode, as the log lists it."
    return [line for text in [head, *listing.splitlines()] for line in comment(text)]


def _json(text: str) -> Dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
