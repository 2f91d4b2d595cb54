"""Graphs that no frame calls: they get files, too, and names that tell where they come from.

    __compiled_fn_exported_<n>     torch.export captured it: Dynamo hands over a graph, but no frame
    __compiled_fn_failed_<n>       the backend failed, or Dynamo did after it had captured the graph
    __compiled_fn_earlier_<n>      the frame was compiled before the session, and something of it (its backward) now
    __compiled_fn_uncalled_<n>     the frame came without a call to it
    __compiled_fn_standalone_<n>   compiled without Dynamo: torch._inductor.standalone_compile, AOTInductor
    __compiled_fn_autograd_<n>     traced by compiled autograd, and Dynamo compiled nothing of it
"""

from __future__ import annotations

from typing import Dict, List

from depyf.torch_hooks.compiles import Compilation
from depyf.torch_hooks.graphs import AUTOGRAD_GRAPH, CAPTURED_EVENT, EVENTS, KERNEL, PROGRAM, STAGES, Graph, Graphs
from depyf.torch_hooks.trace import TraceEvent

_WHY = {
    "exported": "torch.export captured it",
    "failed": "the compilation failed",
    "earlier": "the frame that calls it was compiled before the session",
    "uncalled": "the frame of this compilation does not call it",
    "standalone": "it was compiled without Dynamo",
    "autograd": "compiled autograd traced it, and Dynamo compiled nothing of it",
}


class Strays:
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

    def graph_of(self, compilation: Compilation) -> Graph | None:
        """A graph for the stages that wait in a compilation whose frame never named it; None if there are none."""
        kinds = {event.kind for event in compilation.stages}
        if not any(kind in STAGES or kind in (KERNEL, PROGRAM) or kind not in EVENTS for kind in kinds):
            return None
        if compilation.frame is not None:
            sort = "uncalled"
        elif compilation.function is not None:
            sort = "failed"
        elif compilation.compile_id.startswith("?"):
            sort = "standalone"
        else:
            sort = "exported" if CAPTURED_EVENT in kinds else "earlier"
            recovered = self._graphs.recovered(compilation.compile_id)
            if sort == "earlier" and recovered is not None:
                return recovered
        graph = self._new(sort, compilation.compile_id)
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

