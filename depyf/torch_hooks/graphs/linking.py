"""Find which files of a graph hold the code that runs, and link that code to them.

Inductor's kernels run where there are any; else the graphs of AOTAutograd; else the captured one. A backend that
splits the graph also runs the code that calls the pieces, a stage of its own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf.record.vocabulary import BACKWARD_GRAPH, CAPTURED_GRAPH, FORWARD_GRAPH
from depyf.torch_hooks.graphs import generated_functions
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile
from depyf.torch_hooks.graphs.first_lines import first_line
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.graph_text import like_running
from depyf.torch_hooks.graphs.reachability import ReachableCode, interpreted_by
from depyf.torch_hooks.graphs.stages import STAGES

# Stages of torch's that do not call the pieces of a split graph; those of a backend may.
_NO_JOINTS = frozenset(stage.name for stage in STAGES if not stage.joins_pieces)
# In the `meta` of the graph that Dynamo hands to the backend, which AOTAutograd keeps but does not run.
_HANDED_OVER = "dynamo_compile_id"


def link(graphs: Graphs, graph: CompiledGraph, entry: Any) -> None:
    """Link the generated functions that `entry`, the compiled graph as the frame calls it, leads to."""
    if graph.kernels:
        _link_kernels(graphs, graph, ReachableCode(entry))
    elif any(file.stage == FORWARD_GRAPH for file in graph.stages):
        _link_modules(graphs, graph, (FORWARD_GRAPH, BACKWARD_GRAPH), ReachableCode(entry), _HANDED_OVER)
    else:
        _link_modules(graphs, graph, (CAPTURED_GRAPH,), ReachableCode(entry))
    of_backend = {file.stage for file in graph.stages} - _NO_JOINTS
    if of_backend:
        _link_modules(graphs, graph, tuple(of_backend), ReachableCode(entry), _HANDED_OVER)


def link_loaded(graphs: Graphs, graph: CompiledGraph) -> None:
    """Link the kernels of a graph whose entry point is not known, where their modules are loaded."""
    for file in graph.kernels:
        functions = generated_functions.functions_loaded_from(file.module_file)
        if functions and not file.linked:
            _link_kernel(graphs, file, functions)


# -- kernels


def _link_kernels(graphs: Graphs, graph: CompiledGraph, found: ReachableCode) -> None:
    waiting: Dict[str, List[GraphFile]] = {}
    for file in graph.kernels:
        if not file.linked:
            waiting.setdefault(file.module_file, []).append(file)
    for function in found:
        if not isinstance(function, FunctionType):
            continue
        for file in waiting.pop(function.__globals__.get("__file__") or "", ()):
            _link_kernel(graphs, file, [function])
        if not waiting:
            return


def _link_kernel(graphs: Graphs, file: GraphFile, functions: Sequence[FunctionType]) -> None:
    file.runs = True
    linked_to = os.path.basename(generated_functions.link_module(functions, graphs.path_of(file)))
    file.linked = linked_to == file.name
    file.same_as = "" if file.linked else linked_to


# -- graph modules


def _link_modules(
    graphs: Graphs, graph: CompiledGraph, stages: Tuple[str, ...], found: ReachableCode, not_with: str = ""
) -> None:
    """Link the graph modules among `found` to the files of `stages`, except modules with `not_with` in their `meta`."""
    files = [file for file in graph.stages if file.stage in stages]
    others = [file for file in graph.stages if file.stage not in stages]
    interpreted: Set[int] = set()
    for module in found:
        if isinstance(module, FunctionType):
            interpreted.update(map(id, interpreted_by(module)))
            continue
        if not_with in module.meta:
            continue
        forward = generated_functions.forward_of(module)
        if forward is None or any(_is_linked(graphs, file, forward) for file in others):
            continue
        # two pieces of one graph may have the same code: each gets its own file, and keeps it
        for file in _likeliest_first(graphs, files, forward):
            if _link_forward(graphs, graph, file, forward, module):
                file.runs = True
                # a graph inside an interpreted one runs by its forward, in the same file
                file.linked = file.linked or id(module) not in interpreted
                file.interpreted = not file.linked
                break
        if all(file.runs and len(file.running) == len(_forwards(graphs, graph, file)) for file in files):
            found.stop_soon()


def _likeliest_first(graphs: Graphs, files: List[GraphFile], forward: FunctionType) -> List[GraphFile]:
    """Return the file that the function is linked to, then those without a function, then the others."""
    return sorted(files, key=lambda file: (not _is_linked(graphs, file, forward), file.linked))


def _is_linked(graphs: Graphs, file: GraphFile, forward: FunctionType) -> bool:
    return forward.__code__.co_filename == graphs.path_of(file)


def _forwards(graphs: Graphs, graph: CompiledGraph, file: GraphFile) -> List[CodeType]:
    """Return the code of each `forward` in the text of a file, as compiled from it."""
    if file.forwards is None:
        file.forwards = _compiled(graphs, graph, file)
    return file.forwards


def _compiled(graphs: Graphs, graph: CompiledGraph, file: GraphFile) -> List[CodeType]:
    return generated_functions.forwards_in(f"{first_line(graph, file)}\n{file.text}", graphs.path_of(file))


def _link_forward(graphs: Graphs, graph: CompiledGraph, file: GraphFile, forward: FunctionType, module: Any) -> bool:
    """Link a forward to the file that has its code, if need be after giving the text the signature that runs."""
    found = generated_functions.link_forward(forward, _forwards(graphs, graph, file))
    if found is not None:
        file.running.add(found)
        return True
    text = like_running(file.text, module.code)
    if text is None:
        return False
    forwards = _compiled(graphs, graph, replace(file, text=text))
    found = generated_functions.link_forward(forward, forwards)
    if found is None:
        return False
    file.text, file.forwards, file.running, file.first_line = text, forwards, {found}, ""
    graphs.write(graph, file)
    return True
