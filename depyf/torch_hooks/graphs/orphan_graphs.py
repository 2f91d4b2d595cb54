"""Graphs that no frame calls: they get files, too, and names that tell where they come from.

__compiled_fn_exported_<n>     torch.export captured it: Dynamo hands over a graph, but no frame
__compiled_fn_failed_<n>       the backend failed, or Dynamo did after it had captured the graph
__compiled_fn_earlier_<n>      the frame was compiled before the session, and something of it (its backward) now
__compiled_fn_uncalled_<n>     the frame came without a call to it
__compiled_fn_standalone_<n>   compiled without Dynamo: torch._inductor.standalone_compile, AOTInductor
__compiled_fn_autograd_<n>     traced by compiled autograd, and Dynamo compiled nothing of it
"""

from __future__ import annotations

from typing import Collection, Dict, List

from depyf.torch_hooks.graphs.stages import (
    AUTOGRAD_GRAPH,
    CAPTURED_EVENT,
    EVENTS,
    KERNEL,
    PROGRAM,
    STAGES,
    Graph,
    Graphs,
)
from depyf.torch_hooks.internals.structured_trace import TraceEvent

_WHY = {
    "exported": "torch.export captured it",
    "failed": "the compilation failed",
    "earlier": "the frame that calls it was compiled before the session",
    "uncalled": "the frame of this compilation does not call it",
    "standalone": "it was compiled without Dynamo",
    "autograd": "compiled autograd traced it, and Dynamo compiled nothing of it",
}


class OrphanGraphs:
    """Files such graphs under names of their own; its callers hold the lock of the session."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        self._standalone: Graph | None = None
        self._loaded: List[Graph] = []  # whose modules run if anybody calls them
        self._autograd: Dict[str, TraceEvent] = {}  # "!0" -> the graph of that run of compiled autograd

    def add_event(self, event: TraceEvent) -> None:
        """An event without the id of a frame: compiled autograd has traced a backward, or Dynamo has no part in it."""
        if event.kind == AUTOGRAD_GRAPH:
            self._autograd[event.compile_id] = event
            return
        graph = self._standalone
        if event.kind in STAGES and (graph is None or graph.pieces.begins_with(event.kind)):
            graph = self._standalone = self._new("standalone", "")
            self._loaded.append(graph)
        if graph is not None:  # else only a cache was asked so far
            self._graphs.add_event(graph, event)

    def give_autograd(self, graph: Graph) -> None:
        """Dynamo compiles what compiled autograd traced, under an id that begins with the one of the trace."""
        event = self._autograd.pop(graph.compile_id.split("/")[0], None)
        if event is not None:
            self._graphs.add_event(graph, event)

    def graph_of(
        self, compile_id: str, kinds: Collection[str], *, has_frame: bool, was_announced: bool
    ) -> Graph | None:
        """Return a graph for the stages of a compilation whose frame never named it; None if there are no stages.

        `kinds`: the kinds of trace events that wait. `was_announced`: Dynamo named the function that it compiles.
        """
        if not any(kind in STAGES or kind in (KERNEL, PROGRAM) or kind not in EVENTS for kind in kinds):
            return None
        if has_frame:
            sort = "uncalled"
        elif was_announced:
            sort = "failed"
        elif compile_id.startswith("?"):
            sort = "standalone"
        else:
            sort = "exported" if CAPTURED_EVENT in kinds else "earlier"
            recovered = self._graphs.recovered(compile_id)
            if sort == "earlier" and recovered is not None:
                return recovered
        graph = self._new(sort, compile_id)
        if sort == "earlier":
            self._loaded.append(graph)
        return graph

    def finish(self) -> None:
        """Write what nobody asked for, and link the modules that were loaded."""
        for event in self._autograd.values():
            self._graphs.add_event(self._new("autograd", event.compile_id), event)
        self._autograd.clear()
        for graph in self._loaded:
            self._graphs.link_loaded(graph)

    def _new(self, sort: str, compile_id: str) -> Graph:
        graph = self._graphs.new(self._graphs.free_name(f"__compiled_fn_{sort}"), compile_id)
        graph.without_frame = _WHY[sort]
        return graph
