"""What one process has recorded so far: functions, frames, graphs and skips, and what each event adds to them.

A frame comes in this order: Dynamo starts on it (`dynamo_start`), the stages of its graph come before
the graph has a name, the bytecode hook hands over the transformed code, which names the graph, and the guards come
last (`dynamo_cpp_guards_str`), when the frame can be completed and linked. A backward is compiled when it first runs.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, FrozenSet, List, Tuple

from depyf.record import compile_ids
from depyf.record.records import FailedGuard, FrameRecord, LostFiles, ResumeCall, SessionRecord
from depyf.record.saved_form import to_json
from depyf.torch_hooks.disk.folder import MANIFEST, OutputFolder
from depyf.torch_hooks.frames import fresh_marks
from depyf.torch_hooks.frames.cache_entries import installed_global, resumes_of
from depyf.torch_hooks.frames.cached_functions import CachedFunctions
from depyf.torch_hooks.frames.compilations import (
    CodePlace,
    Compilation,
    Compilations,
    failure_in,
    interruption,
    place_in_backend,
    place_in_exception,
    place_of_failure,
    started_function,
    wants_fullgraph,
)
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.graph_breaks import is_announcement, read_graph_break
from depyf.torch_hooks.frames.identities import Identity
from depyf.torch_hooks.frames.program_calls import ProgramCall, call_in_progress
from depyf.torch_hooks.frames.recorded_versions import RECORDED, Reasons
from depyf.torch_hooks.frames.skip_records import OLD_LOOP
from depyf.torch_hooks.frames.skips import Skips
from depyf.torch_hooks.frames.traced_calls import NO_CALLS, TracedCalls, calls_now, program_call, user_line
from depyf.torch_hooks.frames.traced_lines import TracedLines
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.frames.user_files import UserFiles
from depyf.torch_hooks.graphs import linking
from depyf.torch_hooks.graphs.autotuning import Autotuned
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.generated_functions import functions_of
from depyf.torch_hooks.graphs.graph_files import GraphEvent, Graphs
from depyf.torch_hooks.graphs.loose_fx import LooseFx
from depyf.torch_hooks.graphs.new_code import NewForward
from depyf.torch_hooks.graphs.node_sources import first_uses, sources_of
from depyf.torch_hooks.graphs.orphan_graphs import OrphanGraphs
from depyf.torch_hooks.graphs.stages import AOT_EVENTS, AUTOGRAD_EVENT, CAPTURED_EVENT, GRAPH_EVENTS, KERNEL_EVENT
from depyf.torch_hooks.guards.compiled_values import CompiledValues, values_in
from depyf.torch_hooks.guards.failed_guards import failed_guards, failures
from depyf.torch_hooks.guards.frame_values import variables_now
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.module_paths import Hooked, ModulePaths, hook_in_progress
from depyf.torch_hooks.guards.other_causes import GuardedVersion
from depyf.torch_hooks.guards.recompile_reasons import in_words, read_reasons
from depyf.torch_hooks.guards.size_reads import SizeReads
from depyf.torch_hooks.guards.specializations import SPECIALIZATION_EVENT, read_specialization
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.code_owners import import_folders, is_in_torch
from depyf.torch_hooks.internals.compile_phases import PHASE_EVENT, CompilePhases
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME, RESUME_FUNCTION
from depyf.torch_hooks.internals.structured_trace import BACKWARD_EVENT, GUARDS_EVENT, START_EVENT, TraceEvent
from depyf.torch_hooks.session.journal_writer import Journal
from depyf.torch_hooks.session.software_versions import versions
from depyf.torch_hooks.session.untraced_events import break_explanation

_RECOMPILE_EVENT = "recompile_reasons"
LINKING_EVENTS = (GUARDS_EVENT, BACKWARD_EVENT)  # after which the code of a graph is linked to its files


class Recording:
    """The parts of one record while they grow; its callers hold the lock of the session."""

    def __init__(
        self, folder: OutputFolder, earlier: SessionRecord, log_bytecode: bool, loose_fx: LooseFx | None
    ) -> None:
        self.folder = folder
        self.problems = folder.problems
        self.earlier = earlier  # what earlier contexts of this process wrote to the folder
        self.loose_fx = loose_fx  # writes fx code that belongs to no graph; None where that was not asked for
        self.is_forked = False  # the parent records what was compiled before the fork
        self.includes_earlier = True  # whether what was compiled before the session is added
        self.writes_page = True  # whether index.html is written at the end
        self.phases: CompilePhases | None = None  # torch's own timers, where they were asked for
        self.recorded_elsewhere = 0  # versions that are in the folders of earlier contexts, and not in this one
        self.functions = Functions(self.problems, earlier.functions)
        self.frames = Frames(folder, self.functions, self.problems, log_bytecode, earlier.frames)
        self.graphs = Graphs(folder, self.problems, earlier.graphs)
        self.orphans = OrphanGraphs(self.graphs)
        self.user_files = UserFiles(earlier.user_files)
        self.compilations = Compilations()
        self.skips = Skips(self.functions, self.compilations)
        self.has_unplaced_code = False  # a graph module was generated that no frame's code was calling for
        self.traced_lines = TracedLines()
        self.size_reads = SizeReads()
        self.module_paths = ModulePaths()
        self.seconds: Dict[str, float] = {}  # what took depyf how long
        self.summary: Tuple[str, ...] = ()  # the lines of summary.txt, once it is written
        self.calls: List[Tuple[str, Identity | None]] = []  # what was compiled, and what the program called then
        self._log_bytecode = log_bytecode
        self._journal = Journal(folder, self.frames, self.functions, len(earlier.graphs))
        self._newest: Dict[int, Compilation] = {}  # thread -> the compilation that its last event was about
        self._new_codes: Dict[int, CodeType] = {}  # index of a frame -> the code that Dynamo made
        self._running_codes: Dict[int, CodeType] = {}  # index of a frame -> the code that runs for it
        self._frame_codes: Dict[int, Tuple[CodeType, Compilation]] = {}  # by id: code that runs for a frame
        self._not_in_journal: Compilation | None = None  # has changed since it was last written to the journal
        self._handlers: Dict[str, Callable[[Compilation, TraceEvent], None]] = {
            "dynamo_graph_break_reason": self._add_graph_break,
            _RECOMPILE_EVENT: self._add_recompile_reasons,
            GUARDS_EVENT: self._add_guards,
            SPECIALIZATION_EVENT: self._add_specialization,
            "compilation_metrics": self._add_metrics,
            BACKWARD_EVENT: self._add_backward_metrics,
            **dict.fromkeys(GRAPH_EVENTS, self._add_trace_stage),
        }

    def for_child(self) -> Recording:
        """Return an empty recording for a forked child, with a folder of its own."""
        child = Recording(self.folder.for_child(), SessionRecord(), self._log_bytecode, self.loose_fx)
        child.is_forked = True
        child.traced_lines, child.size_reads = self.traced_lines, self.size_reads  # which are registered
        child.writes_page = self.writes_page
        child.phases = None if self.phases is None else CompilePhases()
        return child

    @property
    def read_kinds(self) -> FrozenSet[str]:
        """The kinds of events that are read; torch need not format others."""
        return frozenset((START_EVENT, *self._handlers, *([PHASE_EVENT] if self.phases is not None else [])))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled yet."""
        return not self.compilations.all and not self.frames.records

    def numbers(self) -> str:
        """Return how much was compiled so far, in words."""
        compilations = list(self.compilations.all)
        found = {
            "frame": len(self.frames.records),
            "graph": sum(compilation.graph is not None for compilation in compilations),
            "break": sum(len(compilation.breaks) for compilation in compilations),
            "recompile": sum(bool(compilation.recompile_reasons) for compilation in compilations),
        }
        return ", ".join(f"{number} {name}{'s' * (number != 1)}" for name, number in found.items())

    # -- frames

    def add_frame(self, code: CodeType, new_code: CodeType) -> Tuple[str, CodeType]:
        """Write the frame that Dynamo made of `code`; return its compile id and the code to run."""
        compile_id = self._current_compile_id()
        compilation = self.compilations.of(compile_id)
        call = compilation.call if compilation.call is not None else call_in_progress()
        call = call if call is not None and call.code is code else None
        key = self._key_of(code, call)
        self.functions.add_hook(key, compilation.hooked)
        unreached = ""
        with self.problems.shield("finding the lines that Dynamo did not reach"):
            unreached = self.traced_lines.unreached(code, is_whole=not compilation.breaks)
        compilation.values.reads.update(self.size_reads.found())
        to_run = self.frames.add(code, new_code, compile_id, key, compilation.sources)
        RECORDED.add(to_run, None if call is None else call.identity, compile_id)
        compilation.frame = len(self.frames.records) - 1
        if unreached or compilation.specialized:
            sizes = compilation.kept_specializations()
            self.frames.update(compilation.frame, unreached=unreached, specialized=sizes)
        self._new_codes[compilation.frame] = new_code
        self._running_codes[compilation.frame] = to_run
        self._frame_codes.update({id(new_code): (new_code, compilation), id(to_run): (to_run, compilation)})
        with self.problems.shield("tying a frame to its graph"):
            self._name_graph(compilation, new_code)
        return compile_id, to_run

    def _key_of(self, code: CodeType, call: ProgramCall | None) -> str:
        """Return the key of the function that is compiled, and count the compilation for what the program called."""
        if call is None:
            return self.functions.key_of(code)
        key = self.functions.key_of(code, call.identity, self._continued(code, call.caller))
        self.calls.append((key, call.entry))
        self._add_call(key, call)
        return key

    def _add_call(self, key: str, call: ProgramCall) -> None:
        """Record the line that called a function; a resume function is called by the code before it."""
        with self.problems.shield("finding the line that called a function"):
            if call.called_at is not None and not RESUME_FUNCTION.match(call.code.co_name):
                line = user_line(call.called_at, self.frames.user_call)
                if line is not None:
                    self.functions.add_call(key, line)

    def _continued(self, code: CodeType, caller: CodeType | None) -> str:
        """Return the key of the function that a resume function continues, whose frame calls it; else an empty text."""
        _, parent = self._frame_codes.get(id(caller), (None, None))
        if parent is None or parent.frame is None or not RESUME_FUNCTION.match(code.co_name):
            return ""
        return self.frames.records[parent.frame].function

    def _current_compile_id(self) -> str:
        current = private_hooks.find("current_compile_id")
        compile_id = current() if current is not None else None
        return str(compile_id) if compile_id is not None else compile_ids.unknown(len(self.frames.records))

    def _name_graph(self, compilation: Compilation, new_code: CodeType) -> None:
        """Name the graph as the frame calls it, and write the stages that waited for the name."""
        renamed = self.frames.shown_names(new_code)
        shown = {name: renamed.get(name, name) for name in new_code.co_names}
        graphs = [name for name in shown if GRAPH_NAME.match(shown[name])]
        if not graphs:
            return
        compilation.graph_global = graphs[-1]
        compilation.graph = self.graphs.new(shown[graphs[-1]], compilation.compile_id)
        self.orphans.give_autograd(compilation.graph)
        assert compilation.frame is not None
        self.frames.update(compilation.frame, graphs=tuple(shown[graph] for graph in graphs))
        self.write_waiting(compilation)

    def add_skip(self, reason: str, code: CodeType, entry: bool) -> None:
        """Record a frame that Dynamo left to plain Python."""
        self.skips.add(reason, code, entry, self._newest.get(threading.get_ident()), call_in_progress, self._add_call)
        self._journal.save_functions()

    def add_skip_error(self, error: BaseException) -> None:
        """Record the exception by which Dynamo gives up the compilation that runs now."""
        compilation = self.compilations.known(self._current_compile_id())
        if compilation is None:
            return
        compilation.skip_reason = str(error)
        cause = error.__cause__
        if not isinstance(cause, Exception) or compilation.breaks or compilation.failure is not None:
            return
        stack = getattr(cause, "real_stack", None)
        if stack and OLD_LOOP in str(error):  # torch 2.4 and older report no graph break then
            text = break_explanation(str(cause), stack)
            compilation.breaks.append(read_graph_break(text, self._calls(compilation, stack)))
        else:
            compilation.failure = type(cause).__qualname__, str(cause)
            compilation.failed_at = place_in_exception(cause)
            compilation.failed_calls = self._calls(compilation).calls

    def begin(self) -> None:
        """Prepare to see what was compiled before the session and runs inside it, and which frames are skipped."""
        with self.problems.shield("listening to why Dynamo skips frames"):
            self.skips.begin()
        if self.includes_earlier:
            with self.problems.shield("preparing to see what runs of what was compiled before"):
                fresh_marks.renew(self.graphs.fresh, RECORDED)

    def add_earlier(self) -> None:
        """Add what was compiled before the session, unless the folder of another context has it."""
        cached = CachedFunctions(self.functions, self.frames, self.graphs, self.problems, recorded=RECORDED)
        self.recorded_elsewhere = cached.add_unrecorded()

    # -- graphs

    def add_autotuned(self, tuned: Autotuned) -> None:
        """Add what autotuning tried to the graph that is compiled now."""
        compilation = self.compilations.of(self._current_compile_id())
        compilation.autotuned.append(tuned)
        self._add_to_graph(compilation, tuned)

    def add_custom_stage(self, stage: CustomStage) -> None:
        """Add a stage of a custom backend to the graph that is compiled now."""
        self._add_to_graph(self.compilations.of(self._current_compile_id()), stage)

    def add_captured(self, graph_module: Any) -> None:
        """Record the user's lines that the nodes of a graph stem from, which Dynamo has just captured."""
        compilation = self.compilations.of(self._current_compile_id(), captured=True)
        compilation.sources = sources_of(graph_module)
        compilation.values.uses.update(first_uses(graph_module))
        self.user_files.add(place.file for source in compilation.sources for place in source.calls)

    def _add_trace_stage(self, compilation: Compilation, event: TraceEvent) -> None:
        self._add_to_graph(compilation, event)
        if compilation.graph is not None:
            self._save(compilation)

    def _add_to_graph(self, compilation: Compilation, event: GraphEvent) -> None:
        """Write the file of an event, or hold it while the graph has no name."""
        if compilation.graph is None:
            compilation.hold(event)
        else:
            self.graphs.add(compilation.graph, event)

    # -- code that is generated meanwhile, or while a graph runs

    def add_forward(self, new: NewForward) -> None:
        """Keep a forward until its graph is linked; link it at once where a compiled graph runs, and generates it."""
        function = new.function()
        if function is not None:
            self.graphs.fresh.add(function)
        current = private_hooks.find("current_compile_id")
        compile_id = current() if current is not None else None
        if compile_id is not None:
            compilation = self.compilations.known(str(compile_id))
            if compilation is not None:
                compilation.forwards.append(new)
            return
        caller = self._calling()
        if caller is not None and caller.graph is not None:
            linking.link_new(self.graphs, caller.graph, new)
        elif not linking.link_unplaced(self.graphs, new):
            self.has_unplaced_code = True

    def add_loaded_module(self, path: str, module: Any) -> None:
        """Keep a module of kernels until its graph is linked; link it at once where its file is there already.

        That is so where Dynamo compiles nothing, and for a backward, which is compiled when it first runs.
        """
        self.graphs.loaded[path] = module
        for function in functions_of(vars(module)):
            self.graphs.fresh.add(function)
        linking.link_module_file(self.graphs, path, vars(module))

    def add_event_of_no_frame(self, event: TraceEvent) -> None:
        """Add an event without the id of a frame: to the graph that runs and compiles, else to one of its own."""
        caller = None if event.kind == AUTOGRAD_EVENT else self._calling()
        if caller is not None and caller.graph is not None:
            self._add_to_graph(caller, event)
            if event.kind in AOT_EVENTS:
                linking.link_to_newest_stage(self.graphs, caller.graph)
        else:
            self.orphans.add_event(event)
        if event.kind == KERNEL_EVENT:
            for path, module in list(self.graphs.loaded.items()):
                linking.link_module_file(self.graphs, path, vars(module))

    def _calling(self) -> Compilation | None:
        """Return the compilation whose frame is being run by this thread, the innermost."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code, compilation = self._frame_codes.get(id(frame.f_code), (None, None))
            if code is frame.f_code:
                return compilation
            frame = frame.f_back
        return None

    def write_waiting(self, compilation: Compilation) -> None:
        """Write the stages that waited until the graph had a name."""
        if compilation.graph is None:
            return
        compilation.graph.is_held = True
        compilation.graph.sources = compilation.sources
        for event in compilation.take_waiting():
            with self.problems.shield("writing a graph"):
                self.graphs.add(compilation.graph, event)

    def write_held(self) -> None:
        """Write the files that wait until their compilation is over."""
        for compilation in self.compilations.all:
            if compilation.graph is not None:
                with self.problems.shield("writing a graph"):
                    self.graphs.write_held(compilation.graph)

    def link(self, compilation: Compilation, *, was_called: bool = False) -> None:
        """Link the code of the graph that runs to its file; `was_called`: the program may have called it already."""
        if compilation.graph is None:
            return
        with self.problems.shield("linking a graph to its file"):
            entry = installed_global(compilation.graph_global)
            if entry is not None:
                linking.link(self.graphs, compilation.graph, entry, compilation.take_forwards(), was_called=was_called)

    # -- other events of the trace

    def add_event(self, event: TraceEvent) -> None:
        """Record an event that carries a compile id."""
        if event.kind == PHASE_EVENT:
            if self.phases is not None:
                self.phases.add(event.compile_id, event.payload)
            return
        if event.kind == START_EVENT:
            self._start(event)
            return
        if event.kind == _RECOMPILE_EVENT:  # comes just before the start, under an id that a reset may repeat
            self.compilations.start(event.compile_id)
        compilation = self.compilations.of(event.compile_id, captured=event.kind == CAPTURED_EVENT)
        self._newest[threading.get_ident()] = compilation
        handler = self._handlers.get(event.kind)
        if handler is not None:
            handler(compilation, event)

    def _start(self, event: TraceEvent) -> None:
        if self._not_in_journal is not None:
            self._save(self._not_in_journal)
        started = self.compilations.start(event.compile_id)
        self.traced_lines.begin()
        self.size_reads.begin()
        with self.problems.shield("reading what Dynamo starts to compile"):
            started.function = started_function(event.data)
        with self.problems.shield("reading the variables of a frame"):
            started.values = values_in(variables_now(), self.module_paths)
            hook = hook_in_progress()
            started.hooked = self.module_paths.hooked_by(hook) if hook is not None else Hooked()
        with self.problems.shield("finding what the program calls"):
            started.call = call_in_progress()
            place, call = started.function, started.call
            if call is not None and place is not None and is_in_torch(place.file, "_dynamo"):
                started.function = CodePlace.of(call.code)  # torch 2.4 names its own function
        with self.problems.shield("writing the journal"):
            self._journal.compiling(started)

    def _add_graph_break(self, compilation: Compilation, event: TraceEvent) -> None:
        if is_announcement(event.payload):
            return
        found = read_graph_break(event.payload, self._calls(compilation, event.data.get("user_stack")))
        if found not in compilation.breaks:
            compilation.breaks.append(found)
            with self.problems.shield("recording a function under torch.compiler.disable"):
                self.skips.add_disabled(event.payload, found)

    def _calls(self, compilation: Compilation, stack: Any = None) -> TracedCalls:
        """Return the calls that led to the line that Dynamo is at; `stack`: torch's, where an event has it."""
        with self.problems.shield("finding the calls that led to a line"):
            return calls_now(compilation.function.name if compilation.function else "", self.frames.user_call, stack)
        return NO_CALLS

    def _add_recompile_reasons(self, compilation: Compilation, event: TraceEvent) -> None:
        reasons = read_reasons(event.payload)
        compilation.recompile_reasons.extend(in_words(reasons))
        with self.problems.shield("finding the call that compiled a frame again"):
            compilation.called_from = program_call(self.frames.user_call)
        with self.problems.shield("reading which guards failed"):
            compilation.failures += failures(reasons, variables_now(), self.frames.guards_of)

    def _add_guards(self, compilation: Compilation, event: TraceEvent) -> None:
        self._complete_frame(compilation, event.format_payload or event.payload)

    def _add_specialization(self, compilation: Compilation, event: TraceEvent) -> None:
        calls = self._calls(compilation).calls
        place = calls[-1] if calls else None
        compilation.specialized.append((event.attempt, read_specialization(event.data, place)))

    def _add_metrics(self, compilation: Compilation, event: TraceEvent) -> None:
        compilation.timings[event.kind] = _numbers(event.data)
        compilation.failure = compilation.failure or failure_in(event.data)
        if compilation.failure is None and compilation.frame is None and interruption():
            compilation.failure, compilation.is_interrupted = (interruption(), ""), True
        compilation.is_fullgraph = compilation.failure is not None and wants_fullgraph()
        compilation.failed_at = compilation.failed_at or place_of_failure(event.data) or place_in_backend()
        if compilation.failure is not None and not compilation.failed_calls:
            compilation.failed_calls = self._calls(compilation).calls
        if compilation.failure is not None and compilation.failures:
            with self.problems.shield("finding why no version fits"):
                compilation.unmet = failed_guards(compilation.failures, self.frames.guards_of, self._values_of)
        self._save(compilation, is_over=True)

    def _add_backward_metrics(self, compilation: Compilation, event: TraceEvent) -> None:
        self._add_metrics(compilation, event)
        self.link(compilation)  # the backward is compiled when it first runs
        self._save(compilation)

    # -- what follows

    def _complete_frame(self, compilation: Compilation, guards: object) -> None:
        """Complete the record of a frame whose guards are built and whose globals are installed; it has not run yet."""
        if compilation.frame is None:
            return
        frame = self.frames.records[compilation.frame]
        new_code = self._new_codes[compilation.frame]
        known: Dict[str, Any] = {}
        with self.problems.shield("describing the guards of a frame"):
            known["guards"] = describe_guards(guards, new_code)
        with self.problems.shield("finding the resume functions of a frame"):
            known["resumes"] = self._resumes(frame, new_code)
        failed: Tuple[FailedGuard, ...] = ()
        with self.problems.shield("finding why a frame was compiled again"):
            new = GuardedVersion(compilation.compile_id, known.get("guards", ()), compilation.values)
            failed = failed_guards(compilation.failures, self.frames.guards_of, self._values_of, new)
        reasons = Reasons(tuple(compilation.breaks), tuple(compilation.recompile_reasons), failed)
        RECORDED.explain(self._running_codes[compilation.frame], reasons)
        known["module"] = compilation.values.path_of_module("self")
        self.frames.update(compilation.frame, called_from=compilation.called_from, **reasons._asdict(), **known)
        self.link(compilation)
        self._not_in_journal = compilation  # it will soon be over

    def _values_of(self, compile_id: str) -> CompiledValues:
        compilation = self.compilations.known(compile_id)
        return CompiledValues() if compilation is None else compilation.values

    def _resumes(self, frame: FrameRecord, new_code: CodeType) -> Tuple[ResumeCall, ...]:
        calls = []
        for name, code in resumes_of(new_code):
            key = None if code is None else self.functions.add_resume(code, name, frame.function)
            calls.append(ResumeCall(name, key))
        return tuple(calls)

    def _save(self, compilation: Compilation, is_over: bool = False) -> None:
        """Write what is known of a compilation to the journal, should the process be killed before the end."""
        if self._not_in_journal is compilation:
            self._not_in_journal = None
        if compilation.graph is not None:
            with self.problems.shield("writing a graph"):
                self.graphs.write_held(compilation.graph)
        with self.problems.shield("writing the journal"):
            self._journal.save(compilation, is_over)
            if self._journal.is_manifest_due():
                unfinished = dataclasses.replace(self.record(), complete=False)
                self.folder.write(MANIFEST, to_json(unfinished, compact=True))

    # -- the result

    def record(self) -> SessionRecord:
        """Return what is recorded so far, as plain data."""
        rank = self.folder.rank
        return SessionRecord(
            rank=None if rank is None else rank.rank,
            world_size=None if rank is None else rank.world_size,
            versions=versions(),
            functions=self.functions.records,
            frames=tuple(sorted(self.frames.records, key=lambda frame: not frame.from_cache)),
            graphs=self.graphs.records,
            files=tuple(sorted(self.folder.files)),
            problems=tuple(self.problems.lines),
            lost_files=LostFiles(self.problems.files_lost, self.problems.why_lost)
            if self.problems.files_lost
            else None,
            skipped_frames=self.skips.records,
            recorded_elsewhere=self.recorded_elsewhere,
            user_files=self.user_files.records,
            not_offered=private_hooks.not_offered(),
            summary=self.summary,
            import_folders=import_folders(),
        )

    def timings(self) -> Dict[str, Any]:
        """Return what torch and depyf took, in torch's own units; differs from run to run."""
        compilations = [
            {"compile_id": compilation.compile_id, **compilation.timings, **_autotuning_times(compilation)}
            for compilation in self.compilations.all
        ]
        if self.phases is not None:
            spans = {one: self.phases.of(one) for one in self.phases.compile_ids}
            compilations = [{**one, "phases": spans.pop(one["compile_id"], [])} for one in compilations]
        return {"compilations": compilations, "depyf_seconds": self.seconds}


def _autotuning_times(compilation: Compilation) -> Dict[str, Any]:
    times = [{"operation": tuned.operation, "milliseconds": tuned.milliseconds} for tuned in compilation.autotuned]
    return {"autotuning": times} if times else {}


def _numbers(data: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in data.items() if type(value) in (int, float)}
