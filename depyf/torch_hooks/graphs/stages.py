"""The graphs that Dynamo captures, at every stage of their compilation, as files linked to what runs."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf.problems import Problems
from depyf.record.records import GraphRecord, StageRecord
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.graphs import linking
from depyf.torch_hooks.graphs.graph_text import as_python, like_running, with_plain_class_names
from depyf.torch_hooks.graphs.pieces import PRE_GRAD, Pieces
from depyf.torch_hooks.graphs.reachability import interpreted_by, reachable
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.structured_trace import TraceEvent

NOT_SEEN = "not seen to run; the backend may have made something else of it."
CAPTURED, FORWARD, BACKWARD = "Captured_Graph", "Forward_graph", "Backward_graph"

CAPTURED_EVENT, POST_GRAD = "dynamo_output_graph", "inductor_post_grad_graph"
AUTOGRAD_GRAPH, SPLIT_PIECE = "compiled_autograd_graph", "optimize_ddp_split_child"
# Kind of trace event -> stage, as it stands in the file name.  An inference graph has its own event, but is
# the forward graph to whoever looks for one; the post-grad graph is an artifact on a cold cache and an event
# on a warm one.
STAGES = {
    CAPTURED_EVENT: CAPTURED,
    "aot_joint_graph": "Joint_graph",
    "aot_forward_graph": FORWARD,
    "aot_inference_graph": FORWARD,
    "aot_backward_graph": BACKWARD,
    PRE_GRAD: "BEFORE_PRE_GRAD",
    POST_GRAD: "AFTER_POST_GRAD",
    AUTOGRAD_GRAPH: "Compiled_Autograd_graph",
    "optimize_ddp_split_graph": "DDP_split_graph",
    SPLIT_PIECE: "DDP_split_piece",
}
KERNEL = "inductor_output_code"
PROGRAM = "graph_dump"  # code in another language that AOTInductor made
TRIED = "depyf_autotuning"  # of our own: what autotuning tried for one operation
# AOTAutograd looks for the graph in its cache, and finds it or not.  Where it does, the pre-grad passes do not
# run (torch 2.13 and 2.15; 2.9 and 2.11 run them first; all other stages come from the cache and are in the trace).
CACHE_HIT = "aotautograd_cache_hit"
CACHE_LOOKUPS = frozenset((CACHE_HIT, "aotautograd_cache_miss", "aotautograd_cache_bypass"))
EVENTS = frozenset(STAGES) | CACHE_LOOKUPS | {KERNEL, PROGRAM, TRIED}  # what `Graphs.add_event` takes
# Stages of torch's own; those of a backend, and what DDP makes of a graph, may hold the pieces of a split one together.
_OF_TORCH = frozenset(STAGES.values()) - {"DDP_split_graph"}
_SHORT = 4000  # characters; such a graph is compiled at once, as its file: whether it is Python shows as well
# In the `meta` of the graph that Dynamo hands to the backend, which AOTAutograd keeps but does not run.
_HANDED_OVER = "dynamo_compile_id"
# Inductor writes into each module which graph of AOTAutograd's it was made for.
_AOT_ID = re.compile(r"^# AOT ID: \['(?P<number>\w+)_(?P<made_for>forward|backward|inference)'\]", re.MULTILINE)


@dataclass
class Part:
    """One file of a graph, while the session runs."""

    stage: str
    index: int
    file: str
    text: str  # without the first line that says whether it runs
    module_file: str = ""  # of a kernel: the file that Inductor loaded it from
    made_for: str = ""  # of a kernel and its graph: "forward", "backward" or "inference", where Inductor says so
    piece: int | None = None  # where the backend split the graph: which part of it this is
    runs: bool = False
    linked: bool = False
    interpreted: bool = False  # whether it runs node by node: breakpoints in the file are not hit
    same_as: str = ""  # of a kernel: the file that the one loaded module is linked to
    forwards: List[CodeType] | None = None  # code of each `forward` in the text, once it was compiled
    running: Set[int] = field(default_factory=set)  # which of them run, as far as seen
    on_disk: str = ""  # the first line that the file has, if it has one


@dataclass
class Graph:
    """One graph, while the session runs."""

    name: str
    compile_id: str
    is_held: bool = False  # whether its stages are written only when it is known what runs, which will be soon
    stages: List[Part] = field(default_factory=list)
    kernels: List[Part] = field(default_factory=list)
    candidates: List[Part] = field(default_factory=list)
    newest_kernel: Part | None = None  # made of the newest post-grad graph
    pieces: Pieces = field(default_factory=Pieces)
    without_frame: str = ""  # why no frame calls it
    counts: Counter[str] = field(default_factory=Counter)  # kind of event -> how many came
    lost: Tuple[str, ...] = ()  # stages of a graph compiled before anyone looked that torch did not keep

    def skipped(self) -> Tuple[str, ...]:
        """The stages that did not run because a cache had the result."""
        lookups = sum(self.counts[kind] for kind in CACHE_LOOKUPS)
        is_hit = self.counts[CACHE_HIT] > 0 and self.counts[PRE_GRAD] < lookups
        return (STAGES[PRE_GRAD],) if is_hit else ()

    def running(self, part: Part | None = None) -> Tuple[str, ...]:
        """The files to look at for the code that runs; with `part` those that were made of it."""
        parts = [one for one in self.stages + self.kernels if one.runs and (part is None or _is_made_of(one, part))]
        return tuple(dict.fromkeys(one.same_as or one.file for one in parts))

    def has_eager_backward(self) -> bool:
        """Whether it has a backward that runs as a graph, not as a kernel."""
        return not self.kernels and any(part.stage == BACKWARD for part in self.stages)

    def record(self) -> GraphRecord:
        """The graph as plain data."""
        return GraphRecord(
            self.name,
            self.compile_id,
            tuple(map(self._part_record, self.stages)),
            tuple(map(self._part_record, self.kernels)),
            self.skipped(),
            tuple(map(self._part_record, self.candidates)),
            self.without_frame,
            self.lost,
        )

    def _part_record(self, part: Part) -> StageRecord:
        instead = (part.same_as,) if part.same_as else () if part.runs else self.running(part)
        piece = part.piece if self.pieces.count > 1 else None
        return StageRecord(part.stage, part.index, part.file, part.runs, part.linked, instead, part.made_for, piece)


def _is_made_of(running: Part, part: Part) -> bool:
    """Whether code that runs was made of `part`, as far as both say what they are about."""
    if None not in (running.piece, part.piece) and running.piece != part.piece:
        return False
    one, other = ({"inference": "forward"}.get(_direction(which), _direction(which)) for which in (running, part))
    return not (one and other) or one == other


def _direction(part: Part) -> str:
    return {FORWARD: "forward", BACKWARD: "backward"}.get(part.stage, part.made_for)


class Graphs:
    """Writes the files of all graphs of a session, and links what runs."""

    def __init__(self, folder: OutputFolder, problems: Problems, earlier: Sequence[GraphRecord] = ()) -> None:
        self._folder = folder
        self._problems = problems
        self._earlier = tuple(earlier)
        self._graphs: List[Graph] = []

    @property
    def records(self) -> Tuple[GraphRecord, ...]:
        """In the order in which they were captured."""
        return self._earlier + tuple(graph.record() for graph in self._graphs)

    def new(self, name: str, compile_id: str) -> Graph:
        """A graph without any stage yet."""
        graph = Graph(name, compile_id)
        self._graphs.append(graph)
        return graph

    def free_name(self, stem: str) -> str:
        """`stem` with the first number that no graph has."""
        taken = {graph.name for graph in self._earlier} | {graph.name for graph in self._graphs}
        return next(name for name in (f"{stem}_{number}" for number in itertools.count()) if name not in taken)

    def recovered(self, compile_id: str) -> Graph | None:
        """The graph of that compilation, of which nobody saw the beginning, as it was found to live."""
        return next((graph for graph in self._graphs if graph.lost and graph.compile_id == compile_id), None)

    def add_event(self, graph: Graph, event: TraceEvent) -> None:
        """Write the file for a stage or kernel of the graph; count what else tells how it was compiled."""
        graph.counts[event.kind] += 1
        if event.kind == POST_GRAD:
            graph.newest_kernel = None
        if event.kind == KERNEL:
            self._add_kernel(graph, event)
        elif event.kind == TRIED:
            self._add_tried(graph, event)
        elif event.kind == PROGRAM:
            self._add_program(graph, event)
        elif event.kind in STAGES:
            piece = graph.pieces.of_stage(event.kind)
            if event.kind == SPLIT_PIECE:
                piece = graph.counts[SPLIT_PIECE] - 1
            self.add_stage(graph, STAGES[event.kind], event.payload, piece)

    def add_stage(self, graph: Graph, stage: str, text: str, piece: int | None = None) -> None:
        """Write the file for the graph at some stage; what is no Python becomes comments."""
        stem = f"{graph.name}.{file_stem(stage.replace(' ', '_'))}"
        index = self._folder.number(stem.replace("{", "").replace("}", "") + ".{}.py")
        part = Part(stage, index, f"{stem}.{index}.py", with_plain_class_names(stable_text(text)), piece=piece)
        if len(part.text) < _SHORT:
            part.forwards = linking.forwards_in("\n" + part.text, self._folder.of(part.file)) or None
        if part.forwards is None:  # that it has one says that it compiles
            part.text = as_python(part.text)
        graph.stages.append(part)
        if not graph.is_held:
            self._write(graph, part)

    def write_held(self, graph: Graph) -> None:
        """Write the stages of a graph that were held back."""
        if graph.is_held:
            graph.is_held = False
            for part in graph.stages:
                if not part.on_disk:
                    self._write(graph, part)

    def _write(self, graph: Graph, part: Part) -> None:
        """Write a file whose first line says whether it runs, unless it says so already."""
        first_line = _first_line(graph, part)
        if first_line != part.on_disk:
            self._folder.write(part.file, f"{first_line}\n{part.text}")
            part.on_disk = first_line

    def _add_kernel(self, graph: Graph, event: TraceEvent) -> None:
        """Of the modules that Inductor makes of one post-grad graph the last one runs.

        Those before it are choices that autotuning tried as graphs of their own.
        """
        module_file = str(event.data.get("filename") or event.data.get("file_path") or "")
        text = _text_of(module_file) or event.payload
        number, made_for = aot_id(text)
        known = next((part for part in graph.kernels if graph.lost and part.module_file == module_file), None)
        if known is not None:
            self._tie_to_source(graph, known, number)
            return
        part = graph.newest_kernel
        if part is not None and aot_id(part.text) == (number, made_for):
            self._add_candidate(graph, part)
            part.text, part.module_file = text, module_file
            self._folder.write(part.file, text)
            return
        index = self._folder.number(f"{graph.name}.kernel_{{}}.py")
        part = Part("kernel", index, f"{graph.name}.kernel_{index}.py", text, module_file, made_for)
        self._tie_to_source(graph, part, number)
        self._folder.write(part.file, text)
        graph.kernels.append(part)
        graph.newest_kernel = part

    def _tie_to_source(self, graph: Graph, kernel: Part, aot_number: str) -> None:
        """A kernel and the post-grad graph that it was made of, the one that came last, tell about each other."""
        source = graph.stages[-1] if graph.stages and graph.stages[-1].stage == STAGES[POST_GRAD] else None
        if source is not None and not kernel.made_for:  # a module around a C++ program
            is_inference = graph.counts["aot_inference_graph"] > 0
            kernel.made_for = "backward" if "tangents_1" in source.text else "inference" if is_inference else "forward"
        kernel.piece = graph.pieces.of_kernel(aot_number, kernel.made_for)
        if source is not None:
            source.made_for, source.piece = kernel.made_for, kernel.piece

    def _add_program(self, graph: Graph, event: TraceEvent) -> None:
        name, suffix = str(event.data.get("name", "program")), file_stem(str(event.data.get("type", "txt")))
        index = self._folder.number(f"{graph.name}.{file_stem(name)}_{{}}.{suffix}")
        part = Part(name, index, f"{graph.name}.{file_stem(name)}_{index}.{suffix}", event.payload)
        self._write(graph, part)
        graph.kernels.append(part)

    def _add_tried(self, graph: Graph, event: TraceEvent) -> None:
        index = self._folder.number(f"{graph.name}.autotuning_{{}}.py")
        part = Part("autotuning", index, f"{graph.name}.autotuning_{index}.py", event.payload)
        self._write(graph, part)
        graph.candidates.append(part)

    def _add_candidate(self, graph: Graph, kernel: Part) -> None:
        index = self._folder.number(f"{graph.name}.candidate_{{}}.py")
        part = replace(kernel, stage="candidate", index=index, file=f"{graph.name}.candidate_{index}.py")
        self._write(graph, part)
        graph.candidates.append(part)

    def link(self, graph: Graph, entry: Any) -> None:
        """Link what `entry`, the compiled graph as the frame calls it, leads to.

        Inductor's kernels run where there are any; else the graphs of AOTAutograd; else the captured one.  A
        backend that splits the graph also runs what holds the pieces together, a stage of its own.
        """
        if graph.kernels:
            self._link_kernels(graph, reachable(entry))
        elif any(part.stage == FORWARD for part in graph.stages):
            self._link_graph_modules(graph, (FORWARD, BACKWARD), reachable(entry), _HANDED_OVER)
        else:
            self._link_graph_modules(graph, (CAPTURED,), reachable(entry))
        of_backend = {part.stage for part in graph.stages} - _OF_TORCH
        if of_backend:
            self._link_graph_modules(graph, tuple(of_backend), reachable(entry), _HANDED_OVER)

    def _link_kernels(self, graph: Graph, found: reachable) -> None:
        waiting: Dict[str, List[Part]] = {}
        for part in graph.kernels:
            if not part.linked:
                waiting.setdefault(part.module_file, []).append(part)
        for function in found:
            if not isinstance(function, FunctionType):
                continue
            for part in waiting.pop(function.__globals__.get("__file__") or "", ()):
                self._link_kernel(part, [function])
            if not waiting:
                return

    def link_loaded(self, graph: Graph) -> None:
        """Link the kernels of a graph whose entry point is not known, where their modules are loaded."""
        for part in graph.kernels:
            functions = linking.functions_loaded_from(part.module_file)
            if functions and not part.linked:
                self._link_kernel(part, functions)

    def _link_kernel(self, part: Part, functions: Sequence[FunctionType]) -> None:
        part.runs = True
        linked_to = os.path.basename(linking.link_module(functions, self._folder.of(part.file)))
        part.linked = linked_to == part.file
        part.same_as = "" if part.linked else linked_to

    def _link_graph_modules(self, graph: Graph, stages: Tuple[str, ...], found: reachable, not_with: str = "") -> None:
        """Link the modules that `found` leads to, but those with `not_with` in their `meta`."""
        parts = [part for part in graph.stages if part.stage in stages]
        others = [part for part in graph.stages if part.stage not in stages]
        interpreted: Set[int] = set()
        for module in found:
            if isinstance(module, FunctionType):
                interpreted.update(map(id, interpreted_by(module)))
                continue
            if not_with in module.meta:
                continue
            forward = linking.forward_of(module)
            if forward is None or any(self._is_linked(part, forward) for part in others):
                continue
            # two pieces of one graph may have the same code: each gets its own file, and keeps it
            for part in sorted(parts, key=lambda part: (not self._is_linked(part, forward), part.linked)):
                if self._link_forward(graph, part, forward, module):
                    part.runs = True
                    # a graph inside an interpreted one runs by its forward, in the same file
                    part.linked = part.linked or id(module) not in interpreted
                    part.interpreted = not part.linked
                    break
            if all(part.runs and len(part.running) == len(self._forwards(graph, part)) for part in parts):
                found.enough()

    def _is_linked(self, part: Part, forward: FunctionType) -> bool:
        return forward.__code__.co_filename == self._folder.of(part.file)

    def _forwards(self, graph: Graph, part: Part) -> List[CodeType]:
        """The code of each `forward` in the text of a part, as compiled from its file."""
        if part.forwards is None:
            part.forwards = linking.forwards_in(_with_first_line(graph, part), self._folder.of(part.file))
        return part.forwards

    def _link_forward(self, graph: Graph, part: Part, forward: FunctionType, module: Any) -> bool:
        path = self._folder.of(part.file)
        found = linking.link_forward(forward, self._forwards(graph, part))
        if found is not None:
            part.running.add(found)
            return True
        text = like_running(part.text, module.code)
        if text is None:
            return False
        changed = replace(part, text=text)
        forwards = linking.forwards_in(_with_first_line(graph, changed), path)
        found = linking.link_forward(forward, forwards)
        if found is None:
            return False
        part.text, part.forwards, part.running, part.on_disk = text, forwards, {found}, ""
        self._write(graph, part)
        return True

    def finish(self) -> None:
        """Write the first lines anew, now that it is known what runs."""
        for graph in self._graphs:
            for part in graph.stages:
                self._write(graph, part)
            for part in graph.kernels:
                if not part.linked:
                    self._write(graph, part)
            for part in graph.candidates:
                self._write(graph, part)


def _with_first_line(graph: Graph, part: Part) -> str:
    return f"{_first_line(graph, part)}\n{part.text}"


def _first_line(graph: Graph, part: Part) -> str:
    """Whether this code runs, and if not which does.  One line always: the lines below must not move."""
    sign = "#" if part.file.endswith(".py") else "//"
    of_piece = "" if part.piece is None or graph.pieces.count < 2 else f" of piece {part.piece}"
    what = f"{sign} {graph.name}, {' '.join(part.stage.split())}{of_piece}: "
    if part.same_as:
        return what + f"not linked; the same code is loaded once and linked to {part.same_as}"
    if part.interpreted:
        return what + "this code runs, node by node in an interpreter: breakpoints here are not hit."
    if part.linked or part.runs:
        return what + what_runs(part.linked, part.runs, ())
    running = graph.running(part)
    if part.stage == "autotuning":
        return what + "what was tried"
    if part.stage == "candidate":
        what += "autotuning tried it; "
    if graph.running() and not running:
        return what + "nothing that was made of it has run so far"
    if graph.without_frame and not running:
        return what + f"no frame calls it: {graph.without_frame}"
    return what + what_runs(False, False, running)


def what_runs(linked: bool, runs: bool, instead: Sequence[str]) -> str:
    """What is to be said of code that is linked to its file, or runs, or in whose place other files run."""
    if linked:
        return "this code runs."
    if runs:
        return "this code runs, but is not linked to this file."
    return f"not run by this backend; what runs is {', '.join(instead)}" if instead else NOT_SEEN


def aot_id(text: str) -> Tuple[str, str]:
    """AOTAutograd's number of the graph, and what of it: "forward", "backward", "inference"."""
    found = _AOT_ID.search(text)
    return ("", "") if found is None else (found["number"], found["made_for"])


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, ValueError):
        return ""
