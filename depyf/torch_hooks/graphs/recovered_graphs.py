"""Recover a graph that was compiled before the session, from what its entry point still leads to.

That is the graph module that Dynamo captured, the graphs of AOTAutograd where they are what runs, and Inductor's
loaded modules, whose files lie in Inductor's cache. The stages between these are lost, and listed as lost.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from depyf.record.vocabulary import (
    BACKWARD_GRAPH,
    CAPTURED_GRAPH,
    FORWARD_GRAPH,
    JOINT_GRAPH,
    MADE_FOR_BACKWARD,
    MADE_FOR_FORWARD,
    POST_GRAD,
)
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.graph_text import readable
from depyf.torch_hooks.graphs.kernel_modules import aot_id, read_kernels
from depyf.torch_hooks.graphs.node_sources import sources_of
from depyf.torch_hooks.graphs.reachability import ReachableCode, is_handed_over, reachable_code
from depyf.torch_hooks.graphs.stages import PRE_GRAD, STAGE_NAMES


def recover(graphs: Graphs, graph: CompiledGraph, entry: Any) -> None:
    """Write what is left of a graph whose compilation was not recorded, and list what is lost.

    `entry` is the compiled graph as the frame calls it.  Which file runs is recorded; nothing is linked.
    """
    found = reachable_code(entry)
    _add_stages(graphs, graph, found)
    files = dict.fromkeys(str(function.__globals__.get("__file__", "")) for function in found.functions)
    kernels = [(file, read_kernels(file)) for file in files]
    for file, text in sorted(kernels, key=lambda kernel: aot_id(kernel[1])[1] == MADE_FOR_BACKWARD):
        if text:
            graph.newest_kernel = None  # each is one that runs, not a choice of autotuning
            graphs.add_kernel(graph, file, text)
    graph.lost = _lost(graph)
    _set_what_runs(graph)


def _add_stages(graphs: Graphs, graph: CompiledGraph, found: ReachableCode) -> None:
    texts: Dict[Tuple[str, str], str] = {}  # AOTAutograd holds a graph twice: as it was made, and as it is called
    interpreters: Dict[Tuple[str, str], str] = {}
    for module in found.modules:
        key, text = (_stage_of(module), _operations(module)), readable(module)
        if len(text) > len(texts.get(key, "")):
            texts[key] = text
        if id(module) in found.interpreters:
            interpreters[key] = found.interpreters[id(module)]
        if key[0] == CAPTURED_GRAPH:
            graph.sources = sources_of(module)
    for key, text in texts.items():
        graphs.add_stage(graph, key[0], text)
        graph.stages[-1].interpreter = interpreters.get(key, "")


def _stage_of(module: Any) -> str:
    if is_handed_over(module):
        return CAPTURED_GRAPH
    return BACKWARD_GRAPH if is_backward(module) else FORWARD_GRAPH


def is_backward(module: Any) -> bool:
    """Return whether gradients enter a graph module of AOTAutograd's, which calls them tangents."""
    inputs = [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]
    return any(name.startswith("tangents") for name in inputs)


def _operations(module: Any) -> str:
    return repr([(node.op, str(node.target), str(node.args), str(node.kwargs)) for node in module.graph.nodes])


def _lost(graph: CompiledGraph) -> Tuple[str, ...]:
    """Return the stages that this graph must have gone through and that torch did not keep."""
    there = {file.stage for file in graph.stages}
    is_trained = any(file.made_for in (MADE_FOR_FORWARD, MADE_FOR_BACKWARD) for file in graph.kernels)
    through = [CAPTURED_GRAPH]
    if graph.kernels:
        through += [PRE_GRAD, FORWARD_GRAPH, POST_GRAD]
    if is_trained or BACKWARD_GRAPH in there:
        through += [JOINT_GRAPH, BACKWARD_GRAPH]
    return tuple(sorted(set(through) - there, key=STAGE_NAMES.index))


def _set_what_runs(graph: CompiledGraph) -> None:
    """Mark the kernels where there are any, else the graphs of AOTAutograd, else the captured one."""
    for stages in ((FORWARD_GRAPH, BACKWARD_GRAPH), (CAPTURED_GRAPH,)):
        files = graph.kernels or [file for file in graph.stages if file.stage in stages]
        for file in files:
            file.was_running = True
        if files:
            return
