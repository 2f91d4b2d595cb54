"""Link the functions that a compiled graph leads to with the files that hold their code.

Inductor's kernels run where there are any; else the graphs of AOTAutograd; else the captured one. But a backend may
edit a graph, make new ones, split it, or call the graph that it was given beside the kernels. So each graph module
that is found is linked: to the stage that has its code, else to a file that is written only if the code runs. Whether
the code of a file ran is seen at the end, by the marks that CPython leaves in code objects (`execution_marks`).
"""

from __future__ import annotations

import os
import weakref
from collections import defaultdict
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, DefaultDict, List, Sequence

from depyf.decompiler.recompile.relabelling import move
from depyf.record.vocabulary import BACKWARD_GRAPH, CAPTURED_GRAPH, FORWARD_GRAPH
from depyf.text.line_breaks import break_lines, has_long_line
from depyf.torch_hooks.graphs import generated_functions
from depyf.torch_hooks.graphs.compiled_graph import CompiledGraph, GraphFile, Link
from depyf.torch_hooks.graphs.execution_marks import has_run
from depyf.torch_hooks.graphs.first_lines import first_line
from depyf.torch_hooks.graphs.generated_functions import functions_loaded_from, functions_of, is_linked_into
from depyf.torch_hooks.graphs.graph_files import Graphs
from depyf.torch_hooks.graphs.graph_text import like_running, readable
from depyf.torch_hooks.graphs.new_code import NewForward
from depyf.torch_hooks.graphs.reachability import ReachableCode, is_handed_over, reachable_code
from depyf.torch_hooks.graphs.short_names import with_short_names
from depyf.torch_hooks.graphs.stages import BACKEND_GRAPH, EDITED_GRAPH, STAGES
from depyf.torch_hooks.graphs.statement_layouts import moved_to_log

# Stages of torch's that do not call the pieces of a split graph; those of a backend may.
_NO_JOINTS = frozenset(stage.name for stage in STAGES if not stage.joins_pieces)
_FIRST_LINE = 1  # that each file has above the text


def link(
    graphs: Graphs, graph: CompiledGraph, entry: Any, made: Sequence[NewForward] = (), *, was_called: bool = False
) -> None:
    """Link the generated functions that `entry`, the compiled graph as the frame calls it, leads to.

    `made`: functions that were generated while it was compiled; they might be called by other ways. `was_called`: the
    program may have called the graph already.
    """
    found = reachable_code(entry)
    _link_kernels(graphs, graph, found, was_called)
    for module in found.modules:
        _link_module(graphs, graph, module, found, was_called)
    _link_loose_functions(graphs, graph, found)
    _set_recorded(graph, found)
    for new in made:
        link_new(graphs, graph, new)


def link_loaded(graphs: Graphs, graph: CompiledGraph) -> None:
    """Link the kernels of a graph whose entry point is not known, where their modules are loaded."""
    for file in graph.kernels:
        functions = [] if file.links or file.same_as else functions_loaded_from(file.module_file)
        if functions:
            _link_kernel(graphs, file, functions, was_called=True)


def link_module_file(graphs: Graphs, path: str, namespace: Any) -> None:
    """Link the functions of a module that Inductor loaded from `path`, if a kernel's file waits for them."""
    for file in graphs.kernels_of(path):
        if not file.links and not file.same_as:
            _link_kernel(graphs, file, list(functions_of(namespace)), was_called=False)
            return


def link_new(graphs: Graphs, graph: CompiledGraph, new: NewForward) -> None:
    """Link a function that was just generated to a file that is written if the function runs."""
    function = new.function()
    if function is None or not _can_be_linked(graphs, function):
        return
    for file in _candidates(graph, None):  # most often it is the function of a stage
        if file.forwards is not None and _adopt(graphs, graph, file, function, new.source, is_expected=False):
            return
    _link_by_lines(graphs, graph, BACKEND_GRAPH, function, new.source, is_expected=False)


def link_unplaced(graphs: Graphs, new: NewForward) -> bool:
    """Link a function that was generated while no frame runs to the stage that it is; return whether it is one.

    Torch generates the forward of a graph module when that is first called. Autograd calls backwards, and a program may
    call a graph that its backend has kept.
    """
    function = new.function()
    if function is None or not _can_be_linked(graphs, function):
        return False
    for graph, file in graphs.waiting_stages():
        if _forwards(graphs, graph, file) and _adopt(graphs, graph, file, function, new.source, is_expected=False):
            return True
    return False


def link_to_newest_stage(graphs: Graphs, graph: CompiledGraph) -> None:
    """Link code to the newest stage of a graph that runs and compiles: torch logs a stage after it has generated it."""
    stage = graph.stages[-1]
    for file in [file for file in graph.unwritten.values() if file.stage == BACKEND_GRAPH]:
        for carried in file.links[:]:
            function = carried.function()
            if function is None or function.__code__ is not carried.code or carried.has_run() is not False:
                continue
            function.__code__ = carried.original
            if _adopt(graphs, graph, stage, function, "", is_expected=False):
                file.links.remove(carried)
            else:
                function.__code__ = carried.code


def _link_by_lines(
    graphs: Graphs, graph: CompiledGraph, stage: str, function: FunctionType, source: str, is_expected: bool
) -> GraphFile:
    """Link a function to a file with the text that it was compiled from, in lines that are not too long."""
    if has_long_line(source):
        file = graphs.unwritten_stage(graph, stage, source)
        if _adopt(graphs, graph, file, function, source, is_expected=False):
            return file
    file = graphs.unwritten_stage(graph, stage, source, as_it_is=True)
    _carry(file, function, move(function.__code__, graphs.path_of(file), _FIRST_LINE), is_expected)
    return file


def _can_be_linked(graphs: Graphs, function: FunctionType) -> bool:
    code = function.__code__
    return not is_linked_into(function, graphs.path) and not generated_functions.is_compiled_by_dynamo(code)


def _carry(file: GraphFile, function: FunctionType, code: CodeType, is_expected: bool = True) -> None:
    """Give the function code with the name and the lines of the file."""
    link = Link(weakref.ref(function), code, function.__code__, is_expected)
    function.__code__ = code
    if not file.runs:
        file.observe()
        file.links.append(link)
    elif not file.links:
        file.links.append(link)


# -- kernels


def _link_kernels(graphs: Graphs, graph: CompiledGraph, found: ReachableCode, was_called: bool) -> None:
    waiting = [file for file in graph.kernels if not file.links and not file.same_as and file.module_file]
    reached = {function.__globals__.get("__file__"): function for function in reversed(found.functions)}
    for file in waiting if waiting else ():
        function = reached.get(file.module_file)
        loaded = graphs.loaded.get(file.module_file)
        if function is not None:
            functions = list(functions_of(function.__globals__))
        else:
            functions = list(functions_of(vars(loaded))) if loaded is not None else []
        if functions:
            _link_kernel(graphs, file, functions, was_called)


def _link_kernel(graphs: Graphs, file: GraphFile, functions: Sequence[FunctionType], was_called: bool) -> None:
    """Link the functions of a module to its file, or name the file that they are linked to for another graph.

    A link that an earlier session made, into another folder, is replaced.
    """
    for function in functions:
        if is_linked_into(function, graphs.path):
            file.same_as = os.path.basename(function.__code__.co_filename)
            return
    path = graphs.path_of(file)
    for function in functions:
        file.runs = file.runs or _has_run_inside(graphs, file, function.__code__, was_called)
        shift = _FIRST_LINE if _is_of_inductor(function) else 0
        _carry(file, function, move(function.__code__, path, shift))


def _set_recorded(graph: CompiledGraph, found: ReachableCode) -> None:
    """Record which functions of modules of kernels are called to record a CUDA graph, and not when it is replayed.

    Where Inductor partitions a graph (`graph_partition`, the default since torch 2.9), these are the functions of the
    partitions, and every call runs the function that calls them; else it is the one function that is called.
    """
    reached: DefaultDict[Any, List[FunctionType]] = defaultdict(list)
    for function in found.functions if found.recorded else ():
        reached[function.__globals__.get("__file__")].append(function)
    for file in graph.kernels if reached else ():
        functions = reached.get(file.module_file, [])
        recorded = [function.__name__ for function in functions if id(function) in found.recorded]
        file.recorded_functions = tuple(sorted(recorded))
        file.is_recorded = bool(recorded) and len(recorded) == len(functions)


def _is_of_inductor(function: FunctionType) -> bool:
    """Return whether the code has the lines of Inductor's own file, which an earlier session has not moved."""
    return function.__code__.co_filename == function.__globals__.get("__file__")


# -- graph modules


def _link_module(graphs: Graphs, graph: CompiledGraph, module: Any, found: ReachableCode, was_called: bool) -> None:
    forward = generated_functions.forward_of(module, generate=not _is_kept(graph, module))
    if forward is None:
        return
    interpreter = found.interpreters.get(id(module), "")
    if not _can_be_linked(graphs, forward):
        for file in graph.stages:  # what runs it may not have been there when it was linked
            if interpreter and any(link.function() is forward for link in file.links):
                file.interpreter = interpreter
        return
    code = forward.__code__
    file = _file_of(graphs, graph, module, forward)
    file.interpreter = file.interpreter or interpreter
    file.is_recorded = file.is_recorded or id(module) in found.recorded
    file.runs = file.runs or _has_run_inside(graphs, file, code, was_called)


def _has_run_inside(graphs: Graphs, file: GraphFile, code: CodeType, was_called: bool) -> bool:
    """Return whether code that is linked now was run by a call inside the session, and not only before it."""
    return has_run(code) is True and (code in graphs.fresh or (was_called and not file.was_running))


def _link_loose_functions(graphs: Graphs, graph: CompiledGraph, found: ReachableCode) -> None:
    """Link functions with code of fx's that are no forward of a module: a backend may have made them of one."""
    for function in generated_functions.compiled_by_fx(found.functions):
        link_new(graphs, graph, NewForward(weakref.ref(function), generated_functions.source_of(function)))


def _file_of(graphs: Graphs, graph: CompiledGraph, module: Any, forward: FunctionType) -> GraphFile:
    """Link a forward to the file that has its code, which is a new one if no stage has it; return that file."""
    is_captured, is_kept = is_handed_over(module), _is_kept(graph, module)
    # the class may have been given the forward of another graph
    source = generated_functions.source_of(forward) or str(vars(module).get("_code", ""))
    for file in _likeliest_first(_candidates(graph, is_captured)):
        if _adopt(graphs, graph, file, forward, source, is_expected=not is_kept):
            return file
    stage = EDITED_GRAPH if is_captured else BACKEND_GRAPH
    if not is_kept:
        file = graphs.unwritten_stage(graph, stage, readable(module))
        if _adopt(graphs, graph, file, forward, source):
            return file
    is_short = any(file.stage == CAPTURED_GRAPH and file.forwards for file in graph.stages)
    stage = CAPTURED_GRAPH if is_kept and not is_short else stage
    if not os.path.isabs(forward.__code__.co_filename):
        return _link_by_lines(graphs, graph, stage, forward, source, is_expected=not is_kept)
    file = graphs.unwritten_stage(graph, stage, source)  # an earlier session has moved its lines
    _adopt(graphs, graph, file, forward, source, is_expected=not is_kept)
    return file


def _is_kept(graph: CompiledGraph, module: Any) -> bool:
    """Return whether it is the graph that Dynamo captured, kept beside what was made of it; most often it never runs.

    If it does, torch generates its forward then, and that is linked (`link_new`).
    """
    return is_handed_over(module) and _is_compiled_further(graph)


def _is_compiled_further(graph: CompiledGraph) -> bool:
    return bool(graph.kernels) or any(file.stage == FORWARD_GRAPH for file in graph.stages)


def _candidates(graph: CompiledGraph, is_captured: bool | None) -> List[GraphFile]:
    """Return the files that may have the code of a graph module: what torch would run, and stages of the backend.

    `is_captured`: whether it is the one that Dynamo handed over; None where that is not known. The text of a graph
    module contains those of the modules inside it.
    """
    stages = {file.stage for file in graph.stages} - _NO_JOINTS
    if not _is_compiled_further(graph):
        stages.add(CAPTURED_GRAPH)
    elif not graph.kernels and is_captured is not True:
        stages |= {FORWARD_GRAPH, BACKWARD_GRAPH}
    files = [file for file in graph.stages if file.stage in stages]
    if is_captured is not False and _is_compiled_further(
        graph
    ):  # AOTAutograd keeps it; to compile a long text would be a waste
        files += [file for file in graph.stages if file.stage == CAPTURED_GRAPH and file.forwards is not None]
    return [*files, *graph.unwritten.values()]


def _likeliest_first(files: List[GraphFile]) -> List[GraphFile]:
    """Return those without a function first: two pieces of one graph may have the same code, each its own file."""
    return sorted(files, key=lambda file: file.linked)


def _forwards(graphs: Graphs, graph: CompiledGraph, file: GraphFile) -> List[CodeType]:
    """Return the code of each `forward` in the text of a file, as compiled from it."""
    if file.forwards is None:
        file.forwards = _compiled(graphs, graph, file)
        if file.forwards:
            file.unchecked, file.broken = "", []  # a text with a `forward` is Python
    return file.forwards


def _find_statements(graphs: Graphs, file: GraphFile, forward: FunctionType) -> None:
    """Set the code of the file to that of a forward that has the same statements, so that nobody compiles the text."""
    source = generated_functions.source_of(forward)
    code = moved_to_log(forward.__code__, source, file.unchecked, file.broken, graphs.path_of(file)) if source else None
    if code is not None:
        file.forwards, file.unchecked, file.broken = [code], "", []


def _compiled(graphs: Graphs, graph: CompiledGraph, file: GraphFile) -> List[CodeType]:
    return generated_functions.forwards_in(f"{first_line(graph, file)}\n{file.text}", graphs.path_of(file))


def _adopt(
    graphs: Graphs, graph: CompiledGraph, file: GraphFile, forward: FunctionType, source: str, is_expected: bool = True
) -> bool:
    """Link a forward to the file if it has its code, if need be after giving the text the signature that runs."""
    if file.forwards is None and file.broken:
        _find_statements(graphs, file, forward)
    found = generated_functions.like_twin(forward.__code__, _forwards(graphs, graph, file))
    if found is None and is_expected:
        text = like_running(file.text, with_short_names(source))
        text = None if text is None else break_lines(text)
        forwards = [] if text is None else _compiled(graphs, graph, replace(file, text=text))
        found = generated_functions.like_twin(forward.__code__, forwards)
        if found is not None:
            assert text is not None
            file.text, file.forwards, file.first_line = text, forwards, ""
    if found is None:
        return False
    _carry(file, forward, found[1], is_expected)
    if not file.first_line and file in graph.stages:
        graphs.write(graph, file)
    return True
