"""Graphs that no frame calls: they get files, too, and names that show where they come from.

__compiled_fn_exported_<n>     torch.export captured it: Dynamo hands over a graph, but no frame
__compiled_fn_failed_<n>       the backend failed, or Dynamo did after it had captured the graph
__compiled_fn_earlier_<n>      the frame was compiled before the session, and something of it (its backward) now
__compiled_fn_uncalled_<n>     the frame came without a call to it
__compiled_fn_standalone_<n>   compiled without Dynamo: torch._inductor.standalone_compile, AOTInductor
__compiled_fn_autograd_<n>     traced by compiled autograd, and Dynamo compiled nothing of it
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, List, Sequence

from depyf.record import compile_ids
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph
from depyf.torch_hooks.graphs.custom_stages import CustomStage
from depyf.torch_hooks.graphs.graph_files import GraphEvent, Graphs
from depyf.torch_hooks.graphs.linking import link_loaded
from depyf.torch_hooks.graphs.stages import AUTOGRAD_EVENT, CAPTURED_EVENT, EARLIER, FILE_EVENTS, STAGE_OF_EVENT
from depyf.torch_hooks.internals.structured_trace import TraceEvent


class Origin(Enum):
    """Why no frame calls a graph; the value is what the manifest and the first line of its files report."""

    EXPORTED = "torch.export captured it"
    FAILED = "the compilation failed"
    EARLIER = "the frame that calls it was compiled before the session"
    UNCALLED = "the frame of this compilation does not call it"
    STANDALONE = "it was compiled without Dynamo"
    AUTOGRAD = "compiled autograd traced it, and Dynamo compiled nothing of it"

    @property
    def stem(self) -> str:
        """Return the beginning of the names of such graphs."""
        return f"__compiled_fn_{self.name.lower()}"


class OrphanGraphs:
    """Files such graphs under names of their own; its callers hold the lock of the session."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._standalone: CompiledGraph | None = None
        self._loaded: List[CompiledGraph] = []  # their modules are loaded, and run if the program calls them
        self._autograd: Dict[str, TraceEvent] = {}  # "!0" -> the graph of that run of compiled autograd

    def add_event(self, event: TraceEvent) -> None:
        """Take an event without the id of a frame: compiled autograd traced a backward, or Dynamo has no part in it."""
        if event.kind == AUTOGRAD_EVENT:
            self._autograd[event.compile_id] = event
            return
        graph = self._standalone
        if event.kind in STAGE_OF_EVENT and (graph is None or graph.pieces.begins_with(event.kind)):
            origin = Origin.EARLIER if event.data.get(EARLIER) else Origin.STANDALONE
            graph = self._standalone = self._new(origin, "")
            self._loaded.append(graph)
        if graph is not None:  # else there were only cache lookups so far
            self._graphs.add(graph, event)

    def give_autograd(self, graph: CompiledGraph) -> None:
        """Add the graph that compiled autograd traced, if Dynamo made `graph` of it."""
        event = self._autograd.pop(compile_ids.autograd_run(graph.compile_id), None)
        if event is not None:
            self._graphs.add(graph, event)

    def graph_of(
        self, compile_id: str, events: Sequence[GraphEvent], *, has_frame: bool, was_announced: bool
    ) -> CompiledGraph | None:
        """Return a graph for the events of a compilation whose frame never named it; None if none becomes a file.

        `was_announced`: Dynamo named the function that it compiles.
        """
        kinds = {event.kind for event in events if isinstance(event, TraceEvent)}
        if not kinds & FILE_EVENTS and not any(isinstance(event, CustomStage) for event in events):
            return None
        origin = _origin(compile_id, CAPTURED_EVENT in kinds, has_frame, was_announced)
        recovered = self._graphs.recovered(compile_id)
        if origin is Origin.EARLIER and recovered is not None:
            return recovered
        graph = self._new(origin, compile_id)
        if origin is Origin.EARLIER:
            self._loaded.append(graph)
        return graph

    def finish(self) -> None:
        """Write the graphs of compiled autograd that Dynamo made nothing of, and link the modules that are loaded."""
        for event in self._autograd.values():
            self._graphs.add(self._new(Origin.AUTOGRAD, event.compile_id), event)
        self._autograd.clear()
        for graph in self._loaded:
            link_loaded(self._graphs, graph)

    def _new(self, origin: Origin, compile_id: str) -> CompiledGraph:
        graph = self._graphs.new(self._graphs.free_name(origin.stem), compile_id)
        graph.without_frame = origin.value
        return graph


def _origin(compile_id: str, was_captured: bool, has_frame: bool, was_announced: bool) -> Origin:
    if has_frame:
        return Origin.UNCALLED
    if was_announced:
        return Origin.FAILED
    if compile_ids.is_unknown(compile_id):
        return Origin.STANDALONE
    return Origin.EXPORTED if was_captured else Origin.EARLIER
