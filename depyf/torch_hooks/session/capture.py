"""The live part of a session: torch's hooks on one side, the record and the files on the other."""

from __future__ import annotations

import dataclasses
import functools
import platform
import threading
import time
from types import CodeType
from typing import Any, Callable, Dict, List

from depyf.record.records import FrameRecord, ResumeCall, SessionRecord, Versions
from depyf.record.saved_form import to_json
from depyf.torch_hooks.disk.folder import MANIFEST, OutputFolder
from depyf.torch_hooks.frames import skips
from depyf.torch_hooks.frames.cache_entries import installed_global, resumes_of
from depyf.torch_hooks.frames.cached_functions import LiveFunctions
from depyf.torch_hooks.frames.compilations import (
    Compilation,
    Compilations,
    compiled_function,
    failure_in,
    place_of_failure,
)
from depyf.torch_hooks.frames.functions import Functions
from depyf.torch_hooks.frames.graph_breaks import read_graph_break
from depyf.torch_hooks.frames.skips import Skips
from depyf.torch_hooks.frames.transformed_code import Frames
from depyf.torch_hooks.graphs import autotuning, custom_stages, loose_fx
from depyf.torch_hooks.graphs.orphan_graphs import OrphanGraphs
from depyf.torch_hooks.graphs.stages import AUTOGRAD_GRAPH, CAPTURED_EVENT, EVENTS, TRIED, Graphs
from depyf.torch_hooks.guards.failed_guards import read_failed_guards, variables_now, with_guards
from depyf.torch_hooks.guards.recompile_reasons import read_recompile_reasons
from depyf.torch_hooks.guards.tree import describe_guards
from depyf.torch_hooks.internals import hook_order, structured_trace, torch_facts
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME
from depyf.torch_hooks.internals.structured_trace import TraceEvent
from depyf.torch_hooks.session.journal_writer import Journal
from depyf.version import __version__


class Capture:
    """Gathers one SessionRecord while torch compiles; every callback is safe to fail.

    All state changes happen under one lock: torch may compile in several threads.  A forked child starts a
    record of its own, in a folder of its own.
    """

    def __init__(self, folder: OutputFolder, earlier: SessionRecord, log_bytecode: bool, keep_wild_code: bool) -> None:
        self._log_bytecode = log_bytecode
        self._keep_wild_code = keep_wild_code
        self._graph_classes_before = loose_fx.graph_module_classes() if keep_wild_code else frozenset()
        self._stops: List[Callable[[], None]] = []
        self._take_place: Callable[[], None] = lambda: None
        self._is_listening_to_autotuning = False
        self._in_child = False
        self._begin(folder, earlier)

    def _begin(self, folder: OutputFolder, earlier: SessionRecord) -> None:
        """An empty record, or one that continues `earlier`."""
        self.folder = folder
        self.problems = folder.problems
        self._lock = threading.RLock()
        self._is_over = False
        self._functions = Functions(self.problems, earlier.functions)
        self._frames = Frames(folder, self._functions, self.problems, self._log_bytecode, earlier.frames)
        self._graphs = Graphs(folder, self.problems, earlier.graphs)
        self._orphans = OrphanGraphs(self._graphs)
        self._compilations = Compilations()
        self._skips = Skips(self._functions, self._compilations)
        self._latest: Dict[int, Compilation] = {}  # thread -> the compilation that it told of last
        self._journal = Journal(folder, self._frames, self._functions, len(earlier.graphs))
        self._new_codes: Dict[int, CodeType] = {}  # frame -> the code that Dynamo made
        self._seconds: Dict[str, float] = {}
        self._unkept: Compilation | None = None  # news about it is not in the journal yet

    # -- hooks on and off

    def start(self, opened_by: str = "") -> None:
        """Put the hooks in place; one that this torch does not have is done without.

        `opened_by`: the module that enters the context.
        """
        with self.problems.shield("registering the bytecode hook"):
            stop, self._take_place = hook_order.attach(self.on_bytecode, opened_by)
            self._stops.append(stop)
        with self.problems.shield("listening to torch's structured trace"):
            self._stops.append(structured_trace.attach(self.on_event, self.problems))
        with self.problems.shield("listening to the stages of custom backends"):
            self._stops.append(custom_stages.attach(self.on_custom_stage))
        with self.problems.shield("listening to why Dynamo skips frames"):
            self._skips.begin()
            self._stops.append(skips.attach(self.on_skip))

    def _listen_to_autotuning(self) -> None:
        """Inductor is loaded when it is first used."""
        if not self._is_listening_to_autotuning:
            with self.problems.shield("listening to autotuning"):
                stop = autotuning.attach(self.on_autotuned)
                if stop is not None:
                    self._stops.append(stop)
                    self._is_listening_to_autotuning = True

    def stop(self) -> None:
        """Take all hooks off again."""
        while self._stops:
            with self.problems.shield("taking a hook off"):
                self._stops.pop()()

    def begin_in_child(self) -> None:
        """In a forked child: the record, the files and the locks are the parent's; start anew."""
        self._in_child = True
        self._begin(self.folder.for_child(), SessionRecord())

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled yet."""
        return not self._compilations.all and not self._frames.records

    # -- callbacks

    def on_bytecode(self, code: CodeType, new_code: CodeType) -> CodeType | None:
        """Dynamo made `new_code` of `code`: write it, and say what to run.  None means: as it is."""
        started = time.perf_counter()
        with self.problems.shield("handling a frame that Dynamo compiled"), self._lock:
            if self._is_over:
                return None
            compile_id = self._current_compile_id()
            structured_trace.switch_on()
            compilation = self._compilations.of(compile_id)
            to_run = self._frames.add(code, new_code, compile_id)
            compilation.frame = len(self._frames.records) - 1
            self._new_codes[compilation.frame] = new_code
            with self.problems.shield("tying a frame to its graph"):
                self._name_graph(compilation, new_code)
            self._seconds[f"{compile_id} hook"] = time.perf_counter() - started
            return to_run
        return None

    def on_event(self, event: TraceEvent) -> None:
        """An event of the structured trace."""
        if not event.compile_id and event.kind not in EVENTS:
            return
        with self._lock:
            if self._is_over:
                return
            if not event.compile_id or event.kind == AUTOGRAD_GRAPH:
                self._orphans.add_event(event)
                return
            if event.kind == "dynamo_start":
                with self.problems.shield("taking a place among bytecode hooks"):
                    self._take_place()
                if self._unkept is not None:
                    self._keep(self._unkept)
                started = self._compilations.start(event.compile_id)
                with self.problems.shield("reading what Dynamo starts to compile"):
                    started.function = compiled_function(event.data)
                with self.problems.shield("keeping the journal"):
                    self._journal.compiling(started)
                return
            if event.kind == "recompile_reasons":  # told just before the start, under an id that a reset may repeat
                self._compilations.start(event.compile_id)
            compilation = self._compilations.of(event.compile_id, captured=event.kind == CAPTURED_EVENT)
            self._latest[threading.get_ident()] = compilation
            if event.kind in EVENTS:
                self._listen_to_autotuning()
                if compilation.graph is None:
                    compilation.stages.append(event)
                else:
                    self._graphs.add_event(compilation.graph, event)
                    self._keep(compilation)
            elif event.kind == "dynamo_graph_break_reason":
                found = read_graph_break(event.payload)
                if found not in compilation.breaks:
                    compilation.breaks.append(found)
                    with self.problems.shield("noting a function that must not be compiled"):
                        self._skips.add_disabled(event.payload, found)
            elif event.kind == "recompile_reasons":
                compilation.recompile_reasons.extend(read_recompile_reasons(event.payload))
                with self.problems.shield("reading which guards failed"):
                    compilation.failed_guards += read_failed_guards(event.payload, variables_now())
            elif event.kind == "dynamo_cpp_guards_str":
                compilation.guard_text = event.payload
                self._settle(compilation)
            elif event.kind in ("compilation_metrics", "bwd_compilation_metrics"):
                compilation.timings[event.kind] = _numbers(event.data)
                compilation.failure = compilation.failure or failure_in(event.data)
                compilation.failed_at = compilation.failed_at or place_of_failure(event.data)
                self._keep(compilation, is_over=True)
                if event.kind == "bwd_compilation_metrics":
                    self._link(compilation)  # the backward is compiled when it first runs
                    self._keep(compilation)

    def on_skip(self, reason: str, code: CodeType, entry: bool) -> None:
        """Dynamo left a frame to plain Python; `entry`: the one that the program handed to torch.compile."""
        with self.problems.shield("noting a frame that Dynamo skipped"), self._lock:
            if not self._is_over:
                self._skips.add(reason, code, entry, self._latest.get(threading.get_ident()))
                self._journal.keep_functions()

    def on_autotuned(self, timings: Any, operation: Any, choices: Any) -> None:
        """Inductor has timed its choices for an operation of the graph that it compiles now."""
        with self.problems.shield("listing what autotuning tried"), self._lock:
            if self._is_over:
                return
            compilation = self._compilations.of(self._current_compile_id())
            tuned = autotuning.read(timings, operation, choices)
            compilation.autotuned.append(tuned)
            event = TraceEvent(TRIED, compilation.compile_id, _attempt(compilation), {}, autotuning.listing(tuned))
            if compilation.graph is None:
                compilation.stages.append(event)
            else:
                self._graphs.add_event(compilation.graph, event)

    def on_custom_stage(self, stage: str, text: str) -> None:
        """A custom backend announces a stage of the graph that it compiles now."""
        with self.problems.shield("writing a stage of a custom backend"), self._lock:
            if self._is_over:
                return
            compilation = self._compilations.of(self._current_compile_id())
            event = TraceEvent("custom " + stage, compilation.compile_id, _attempt(compilation), {}, text)
            if compilation.graph is None:
                compilation.stages.append(event)
            else:
                self._graphs.add_stage(compilation.graph, stage, text)

    # -- what follows from them

    def _current_compile_id(self) -> str:
        current = torch_facts.find("current_compile_id")
        compile_id = current() if current is not None else None
        return str(compile_id) if compile_id is not None else f"?/{len(self._frames.records)}"

    def _name_graph(self, compilation: Compilation, new_code: CodeType) -> None:
        """The frame tells the name of its graph: the stages that wait for it can be written."""
        renamed = self._frames.shown_names(new_code)
        shown = {name: renamed.get(name, name) for name in new_code.co_names}
        graphs = [name for name in shown if GRAPH_NAME.match(shown[name])]
        if not graphs:
            return
        compilation.graph_global = graphs[-1]
        name = shown[graphs[-1]]
        compilation.graph = self._graphs.new(name, compilation.compile_id)
        self._orphans.give_autograd(compilation.graph)
        assert compilation.frame is not None
        self._frames.update(compilation.frame, graphs=tuple(shown[graph] for graph in graphs))
        self._write_waiting(compilation)

    def _write_waiting(self, compilation: Compilation) -> None:
        if compilation.graph is None:
            return
        compilation.graph.is_held = True
        for event in compilation.last_attempt():
            with self.problems.shield("writing a graph"):
                if event.kind.startswith("custom "):
                    self._graphs.add_stage(compilation.graph, event.kind[len("custom ") :], event.payload)
                else:
                    self._graphs.add_event(compilation.graph, event)
        compilation.stages.clear()

    def _settle(self, compilation: Compilation) -> None:
        """Dynamo has built the guards and installed the globals of the frame, which has not run yet."""
        if compilation.frame is None:
            return
        frame = self._frames.records[compilation.frame]
        new_code = self._new_codes[compilation.frame]
        known: Dict[str, Any] = {}
        with self.problems.shield("describing the guards of a frame"):
            known["guards"] = describe_guards(compilation.guard_text, new_code)
        with self.problems.shield("finding the resume functions of a frame"):
            known["resumes"] = self._resumes(frame, new_code)
        with self.problems.shield("telling why a frame was compiled again"):
            known["failed_guards"] = with_guards(compilation.failed_guards, self._frames.guards_of)
        self._frames.update(
            compilation.frame,
            graph_breaks=tuple(compilation.breaks),
            recompile_reasons=tuple(compilation.recompile_reasons),
            **known,
        )
        self._link(compilation)
        self._unkept = compilation  # it will soon be over

    def _keep(self, compilation: Compilation, is_over: bool = False) -> None:
        """What is known now is kept, should the process be killed before the end."""
        if self._unkept is compilation:
            self._unkept = None
        if compilation.graph is not None:
            with self.problems.shield("writing a graph"):
                self._graphs.write_held(compilation.graph)
        with self.problems.shield("keeping the journal"):
            self._journal.keep(compilation, is_over)
            if self._journal.is_manifest_due():
                unfinished = dataclasses.replace(self.record(), complete=False)
                self.folder.write(MANIFEST, to_json(unfinished, compact=True))

    def _resumes(self, frame: FrameRecord, new_code: CodeType) -> tuple[ResumeCall, ...]:
        calls = []
        for name, code in resumes_of(new_code):
            key = None if code is None else self._functions.add_resume(code, name, frame.function)
            calls.append(ResumeCall(name, key))
        return tuple(calls)

    def _link(self, compilation: Compilation) -> None:
        if compilation.graph is None:
            return
        with self.problems.shield("linking a graph to its file"):
            entry = installed_global(compilation.graph_global)
            if entry is not None:
                self._graphs.link(compilation.graph, entry)

    # -- the end

    def finish(self) -> SessionRecord:
        """Complete the files and the record, after the hooks are off."""
        with self._lock:
            self._is_over = True
            if not self._in_child:  # what was compiled before the fork is told by the parent
                with self.problems.shield("showing what was compiled before the session"):
                    LiveFunctions(self._functions, self._frames, self._graphs, self.problems).add_all()
            for compilation in self._compilations.all:
                if compilation.graph is None and compilation.stages:
                    with self.problems.shield("writing graphs that belong to no frame"):
                        compilation.graph = self._orphans.graph_of(
                            compilation.compile_id,
                            {event.kind for event in compilation.stages},
                            has_frame=compilation.frame is not None,
                            was_announced=compilation.function is not None,
                        )
                        self._write_waiting(compilation)
                # torch 2.15 makes the module of an eager backward when it first runs: it is found only now
                if compilation.graph is not None and (
                    not compilation.graph.running() or compilation.graph.has_eager_backward()
                ):
                    self._link(compilation)
            with self.problems.shield("linking graphs that belong to no frame"):
                self._orphans.finish()
            with self.problems.shield("noting functions that were not compiled"):
                self._skips.finish(self._frames.records)
            with self.problems.shield("counting versions that were compiled before the session"):
                self._functions.count_earlier(self._frames.records)
            with self.problems.shield("finishing the graph files"):
                self._graphs.finish()
            if self._keep_wild_code:
                with self.problems.shield("writing fx code that belongs to no graph"):
                    loose_fx.write_rest(self.folder, self._graph_classes_before)
            return self.record()

    def record(self) -> SessionRecord:
        """What is known so far."""
        rank = self.folder.rank
        return SessionRecord(
            rank=None if rank is None else rank.rank,
            world_size=None if rank is None else rank.world_size,
            versions=versions(),
            functions=self._functions.records,
            frames=tuple(sorted(self._frames.records, key=lambda frame: not frame.from_cache)),
            graphs=self._graphs.records,
            files=tuple(sorted(self.folder.files)),
            problems=tuple(self.problems.all_lines()),
            skipped_frames=self._skips.records,
        )

    def set_full_code_file(self, key: str, name: str) -> None:
        """Note the file that tells the whole story of a function."""
        self._functions.set_full_code_file(key, name)

    def timings(self) -> Dict[str, Any]:
        """What torch and depyf took, in torch's own units; differs from run to run."""
        compilations = [
            {"compile_id": compilation.compile_id, **compilation.timings, **_autotuning_times(compilation)}
            for compilation in self._compilations.all
        ]
        return {"compilations": compilations, "depyf_seconds": self._seconds}


def _attempt(compilation: Compilation) -> int:
    """A custom stage belongs to the attempt of the graph captured last."""
    return max((event.attempt for event in compilation.stages), default=0)


def _autotuning_times(compilation: Compilation) -> Dict[str, Any]:
    times = [{"operation": tuned.operation, "milliseconds": tuned.milliseconds} for tuned in compilation.autotuned]
    return {"autotuning": times} if times else {}


def _numbers(data: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in data.items() if type(value) in (int, float)}


@functools.lru_cache(maxsize=1)
def versions() -> Versions:
    """Of depyf, Python and torch."""
    return Versions(__version__, platform.python_version(), torch_facts.version())
