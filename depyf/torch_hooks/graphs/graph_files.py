"""Write the files of graphs: one for each stage, module of kernels, and list of what autotuning tried."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Sequence, Tuple, Union

from depyf.problems import Problems
from depyf.record.records import GraphRecord
from depyf.record.vocabulary import (
    AUTOTUNING,
    BACKWARD_GRAPH,
    CANDIDATE,
    CAPTURED_GRAPH,
    KERNEL,
    MADE_FOR_BACKWARD,
    MADE_FOR_FORWARD,
    MADE_FOR_INFERENCE,
    POST_GRAD,
)
from depyf.text.line_breaks import break_lines, broken_lines
from depyf.torch_hooks.disk.file_names import file_stem
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.graphs import autotuning
from depyf.torch_hooks.graphs.autotuning import Autotuned
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.execution_marks import FreshCodes
from depyf.torch_hooks.graphs.first_lines import first_line
from depyf.torch_hooks.graphs.generated_functions import forwards_in
from depyf.torch_hooks.graphs.graph_text import as_python, with_plain_class_names
from depyf.torch_hooks.graphs.kernel_modules import aot_id, read_module
from depyf.torch_hooks.graphs.provenance import PROVENANCE_EVENTS, with_artifact
from depyf.torch_hooks.graphs.short_names import with_short_names
from depyf.torch_hooks.graphs.stages import (
    INFERENCE_EVENT,
    KERNEL_EVENT,
    POST_GRAD_EVENT,
    PROGRAM_EVENT,
    SPLIT_PIECE_EVENT,
    STAGE_OF_EVENT,
)
from depyf.torch_hooks.internals.stable_names import stable_text
from depyf.torch_hooks.internals.structured_trace import TraceEvent

# What a graph gets files from: torch's trace, a custom backend, Inductor's autotuning.
GraphEvent = Union[TraceEvent, CustomStage, Autotuned]

_SHORT = 4000  # characters; such a graph is compiled at once, as its file: whether it is Python shows as well


class Graphs:
    """The graphs of a session, in the order in which they were captured, and their files."""

    def __init__(self, folder: OutputFolder, problems: Problems, earlier: Sequence[GraphRecord] = ()) -> None:
        self._folder = folder
        self._problems = problems
        self._earlier = tuple(earlier)
        self._graphs: List[CompiledGraph] = []
        self.fresh = FreshCodes()  # of functions that were generated before the session
        self.loaded: Dict[str, Any] = {}  # path -> the module that Inductor loaded from it last

    @property
    def records(self) -> Tuple[GraphRecord, ...]:
        """Return the records of all graphs, those of an earlier session in this folder first."""
        return self._earlier + tuple(graph.record() for graph in self._graphs)

    def new(self, name: str, compile_id: str) -> CompiledGraph:
        """Return a graph without any stage yet."""
        graph = CompiledGraph(name, compile_id)
        self._graphs.append(graph)
        return graph

    def free_name(self, stem: str) -> str:
        """Return `stem` with the first number that no graph has."""
        taken = {graph.name for graph in self._earlier} | {graph.name for graph in self._graphs}
        return next(name for name in (f"{stem}_{number}" for number in itertools.count()) if name not in taken)

    def recovered(self, compile_id: str) -> CompiledGraph | None:
        """Return the graph of that compilation that was read from Dynamo's cache, if any."""
        return next((graph for graph in self._graphs if graph.lost and graph.compile_id == compile_id), None)

    @property
    def path(self) -> str:
        """The path of the folder."""
        return self._folder.path

    def path_of(self, file: GraphFile) -> str:
        """Return the absolute path of a file."""
        return self._folder.of(file.name)

    # -- new events

    def add(self, graph: CompiledGraph, event: GraphEvent) -> None:
        """Write the file of an event about the graph; count events of the trace."""
        if isinstance(event, CustomStage):
            self.add_stage(graph, event.name, event.text)
        elif isinstance(event, Autotuned):
            self._add_autotuned(graph, event)
        else:
            self._add_trace_event(graph, event)

    def _add_trace_event(self, graph: CompiledGraph, event: TraceEvent) -> None:
        graph.counts[event.kind] += 1
        if event.kind == POST_GRAD_EVENT:
            graph.newest_kernel = None
        if event.kind == KERNEL_EVENT:
            module_file = str(event.data.get("filename") or event.data.get("file_path") or "")
            self.add_kernel(graph, module_file, read_module(module_file) or event.payload)
        elif event.kind == PROGRAM_EVENT:
            self._add_program(graph, event)
        elif event.kind in PROVENANCE_EVENTS:
            kernel = graph.newest_kernel
            if kernel is not None:
                kernel.sources = with_artifact(kernel.sources, event.kind, event.payload, kernel.text)
        elif event.kind in STAGE_OF_EVENT:
            piece = graph.pieces.of_stage(event.kind)
            if event.kind == SPLIT_PIECE_EVENT:
                piece = graph.counts[SPLIT_PIECE_EVENT] - 1
            self.add_stage(graph, STAGE_OF_EVENT[event.kind].name, event.payload, piece)

    def add_stage(self, graph: CompiledGraph, stage: str, text: str, piece: int | None = None) -> None:
        """Write the file for the graph at some stage; text that is not Python becomes comments."""
        stem = f"{graph.name}.{file_stem(stage.replace(' ', '_'))}"
        index = self._folder.number(stem.replace("{", "").replace("}", "") + ".{}.py")
        file = GraphFile(
            stage, index, f"{stem}.{index}.py", with_plain_class_names(with_short_names(stable_text(text))), piece=piece
        )
        if len(file.text) < _SHORT:
            file.text = break_lines(file.text)
            file.forwards = forwards_in("\n" + file.text, self.path_of(file)) or None
        if file.forwards is None:  # most long texts are compiled to link them, before they are written
            file.unchecked, file.broken = file.text, broken_lines(file.text)
            file.text = "\n".join(file.broken)
        graph.stages.append(file)
        if not graph.is_held:
            self.write(graph, file)

    def unwritten_stage(self, graph: CompiledGraph, stage: str, text: str, as_it_is: bool = False) -> GraphFile:
        """Return the file for a text that is written at the end if its code ran; the same one for the same text.

        `as_it_is`: its lines are those of the running code, and not broken.
        """
        text = stable_text(text)
        text = as_python(text) if as_it_is else break_lines(as_python(with_short_names(text)))
        if text not in graph.unwritten:
            index = self._folder.number(f"{graph.name}.{stage}.{{}}.py")
            graph.unwritten[text] = GraphFile(stage, index, f"{graph.name}.{stage}.{index}.py", text)
        return graph.unwritten[text]

    def kernels_of(self, module_file: str) -> List[GraphFile]:
        """Return the files of the kernels that Inductor loaded from `module_file`, the newest first."""
        return [file for graph in reversed(self._graphs) for file in graph.kernels if file.module_file == module_file]

    def waiting_stages(self) -> Iterator[Tuple[CompiledGraph, GraphFile]]:
        """Yield backwards, and graphs that the backend made nothing of, of which no code has run; newest first."""
        for graph in reversed(self._graphs):
            is_found = any(link.is_expected for file in graph.stages for link in file.links)
            for file in graph.stages if not graph.kernels else ():
                is_captured = file.stage == CAPTURED_GRAPH and not is_found
                if (is_captured or file.stage == BACKWARD_GRAPH) and not any(link.has_run() for link in file.links):
                    yield graph, file

    def add_kernel(self, graph: CompiledGraph, module_file: str, text: str) -> None:
        """Write the file for a module of kernels that Inductor loaded from `module_file`.

        Of the modules that Inductor makes of one post-grad graph the last one runs. Those before it are choices that
        autotuning tried as graphs of their own.
        """
        number, made_for = aot_id(text)
        known = next((file for file in graph.kernels if graph.lost and file.module_file == module_file), None)
        if known is not None:
            _tie_to_source(graph, known, number)
            return
        file = graph.newest_kernel
        if file is not None and not file.links and aot_id(file.text) == (number, made_for):
            self._add_candidate(graph, file)
            file.text, file.module_file, file.first_line, file.links = text, module_file, "", []
            self.write(graph, file)
            return
        index = self._folder.number(f"{graph.name}.kernel_{{}}.py")
        file = GraphFile(KERNEL, index, f"{graph.name}.kernel_{index}.py", text, module_file, made_for)
        _tie_to_source(graph, file, number)
        graph.kernels.append(file)
        self.write(graph, file)
        graph.newest_kernel = file

    def _add_program(self, graph: CompiledGraph, event: TraceEvent) -> None:
        name, suffix = str(event.data.get("name", "program")), file_stem(str(event.data.get("type", "txt")))
        index = self._folder.number(f"{graph.name}.{file_stem(name)}_{{}}.{suffix}")
        file = GraphFile(name, index, f"{graph.name}.{file_stem(name)}_{index}.{suffix}", event.payload, is_native=True)
        self.write(graph, file)
        graph.kernels.append(file)

    def _add_autotuned(self, graph: CompiledGraph, tuned: Autotuned) -> None:
        index = self._folder.number(f"{graph.name}.autotuning_{{}}.py")
        file = GraphFile(AUTOTUNING, index, f"{graph.name}.autotuning_{index}.py", autotuning.listing(tuned))
        self.write(graph, file)
        graph.candidates.append(file)

    def _add_candidate(self, graph: CompiledGraph, kernel: GraphFile) -> None:
        index = self._folder.number(f"{graph.name}.candidate_{{}}.py")
        file = replace(kernel, stage=CANDIDATE, index=index, name=f"{graph.name}.candidate_{index}.py", links=[])
        file.first_line = ""
        self.write(graph, file)
        graph.candidates.append(file)

    # -- writing

    def write(self, graph: CompiledGraph, file: GraphFile) -> None:
        """Write a file unless it is on disk with the first line that holds now."""
        if file.unchecked:
            text = as_python(file.unchecked)
            file.text = file.text if text == file.unchecked else break_lines(text)
            file.unchecked, file.broken = "", []
        line = first_line(graph, file)
        if line != file.first_line:
            self._folder.write(file.name, f"{line}\n{file.text}")
            file.first_line = line

    def write_held(self, graph: CompiledGraph) -> None:
        """Write the stages of a graph that were held back."""
        if graph.is_held:
            graph.is_held = False
            for file in graph.stages:
                if not file.first_line:
                    self.write(graph, file)

    def finish(self) -> None:
        """Write the first lines anew, now that it is known what ran, and the stages that were to be written if so."""
        for graph in self._graphs:
            for file in [*graph.stages, *graph.kernels, *graph.unwritten.values()]:
                file.finish()
            graph.stages += [file for file in graph.unwritten.values() if file.runs]
            graph.unwritten.clear()
        for graph in self._graphs:
            for file in graph.stages + graph.kernels + graph.candidates:
                self.write(graph, file)


def _tie_to_source(graph: CompiledGraph, kernel: GraphFile, aot_number: str) -> None:
    """Record the direction and the piece of a kernel and of the post-grad graph it was made of, the newest stage."""
    source = graph.stages[-1] if graph.stages and graph.stages[-1].stage == POST_GRAD else None
    if source is not None and not kernel.made_for:  # a module around a C++ program
        is_inference = graph.counts[INFERENCE_EVENT] > 0
        made_for = MADE_FOR_INFERENCE if is_inference else MADE_FOR_FORWARD
        kernel.made_for = MADE_FOR_BACKWARD if "tangents_1" in source.text else made_for
    kernel.piece = graph.pieces.of_kernel(aot_number, kernel.made_for)
    if source is not None:
        source.made_for, source.piece = kernel.made_for, kernel.piece
