"""What is compiled now, read from the entries that live in Dynamo's caches.

Dynamo keeps the compiled versions of a function with its code object: the transformed code, the guards, the compile
id.  So what was compiled before anyone looked can still be shown.  How the parts are found:

- All code objects that Dynamo has met since its last reset are in its own list of inputs (`input_codes`), which is
  what it resets its caches by: no other code object can have an entry.
- A transformed frame calls its graph and its resume functions by global names; Dynamo's clean-up manager knows the
  namespaces that it put them into.
- The entry point of a graph leads to the graph module that Dynamo captured, to the graphs of AOTAutograd where they
  are what runs, and to Inductor's loaded modules, whose files lie in Inductor's cache.

What torch does not keep is named as lost: the graphs between the captured one and the kernels, the reasons of graph
breaks, recompiles and skips.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Dict, Iterator, List, Tuple

from depyf.torch_hooks.frames.functions import code_behind
from depyf.torch_hooks.graphs.pieces import PRE_GRAD
from depyf.torch_hooks.graphs.reachability import reachable
from depyf.torch_hooks.graphs.stages import (
    BACKWARD,
    CAPTURED,
    FORWARD,
    KERNEL,
    POST_GRAD,
    STAGES,
    Graph,
    Graphs,
    aot_id,
)
from depyf.torch_hooks.internals import torch_facts
from depyf.torch_hooks.internals.stable_names import RESUME_FUNCTION, RESUME_NAME
from depyf.torch_hooks.internals.structured_trace import TraceEvent

_JOINT = "Joint_graph"


@dataclass(frozen=True)
class LiveVersion:
    """One compiled version of a function that a call can still find."""

    code: CodeType  # of the function
    new_code: CodeType  # that runs instead
    compile_id: str
    guard_manager: Any = None

    @property
    def guards(self) -> str:
        """The guard tree as torch prints it, which takes torch a while."""
        return "" if self.guard_manager is None else str(self.guard_manager)


def met_codes() -> Iterator[CodeType]:
    """The code objects that Dynamo has met since its last reset, compiled or not, in that order."""
    inputs = torch_facts.find("input_codes")
    for reference in list(getattr(inputs, "seen", ())):
        code = reference()
        if isinstance(code, CodeType):
            yield code


def versions_of(code: CodeType) -> List[LiveVersion]:
    """The versions of a function that live now, oldest first; Dynamo itself has the one used last in front."""
    entries = torch_facts.find("cache_entries")
    found = []
    for entry in entries(code) if entries is not None else ():
        compile_id = str(getattr(entry, "compile_id", None) or "?/?")
        found.append(LiveVersion(code, entry.code, compile_id, getattr(entry, "guard_manager", None)))
    return sorted(found, key=lambda version: _numbers(version.compile_id))


def _numbers(compile_id: str) -> Tuple[int, ...]:
    """Sort key: "!1/0/10" after "!1/0/9"."""
    return tuple(int(part) if part.isdigit() else -1 for part in compile_id.lstrip("!").split("/"))


def resumes_of(new_code: CodeType) -> Iterator[Tuple[str, CodeType | None]]:
    """The names by which a frame of Dynamo's calls resume functions, with their code where it is still there.

    They are globals.  In older torch (2.11 and before) one that shares variables with the function is made in the frame
    itself, of code among its constants, and has no other name than its own.
    """
    for name in new_code.co_names:
        if RESUME_NAME.match(name):
            yield name, code_behind(installed_global(name))
    for constant in new_code.co_consts:
        if isinstance(constant, CodeType) and RESUME_FUNCTION.match(constant.co_name):
            yield constant.co_name, constant


def installed_global(name: str) -> Any:
    """The value of a global that Dynamo installed for some frame; None when it is gone or cannot be found."""
    manager = torch_facts.find("cleanup_manager")
    if manager is None or not name:
        return None
    for cleanups in reversed(list(manager.values.values())):
        for cleanup in cleanups:
            if getattr(cleanup, "name", None) == name:
                return cleanup.scope.get(name)
    return None


# ---------------------------------------------------------------- graphs


def recover(graphs: Graphs, graph: Graph, entry: Any) -> None:
    """Write what is left of a graph whose compilation nobody saw, and name what is lost.

    `entry` is the compiled graph as the frame calls it.  Which part runs is noted; nothing is linked.
    """
    found = list(reachable(entry))
    texts: Dict[Tuple[str, str], str] = {}  # AOTAutograd holds a graph twice: as it was made, and as it is called
    for module in found:
        if type(module) is FunctionType:
            continue
        which, text = (_stage_of(module), _operations(module)), _readable(module)
        if len(text) > len(texts.get(which, "")):
            texts[which] = text
    for (stage, _), text in texts.items():
        graphs.add_stage(graph, stage, text)
    functions = [function for function in found if type(function) is FunctionType]
    files = dict.fromkeys(str(function.__globals__.get("__file__", "")) for function in functions)
    kernels = [(file, _text_of_kernel(file)) for file in files]
    for file, text in sorted(kernels, key=lambda kernel: aot_id(kernel[1])[1] == "backward"):
        if text:
            graph.newest_kernel = None  # each is one that runs, not a choice of autotuning
            graphs.add_event(graph, TraceEvent(KERNEL, graph.compile_id, 0, {"filename": file}, text))
    graph.lost = _lost(graph)
    _note_what_runs(graph)


def _stage_of(module: Any) -> str:
    """AOTAutograd calls the gradients that enter a backward graph tangents."""
    if "dynamo_compile_id" in module.meta:
        return CAPTURED
    inputs = [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]
    return BACKWARD if any(name.startswith("tangents") for name in inputs) else FORWARD


def _operations(module: Any) -> str:
    return repr([(node.op, str(node.target), str(node.args), str(node.kwargs)) for node in module.graph.nodes])


def _readable(module: Any) -> str:
    """The graph in the form in which Dynamo logs it; a torch without its options says it more shortly."""
    try:
        return str(module.print_readable(print_output=False, include_stride=True, include_device=True))
    except TypeError:
        return str(module.print_readable(print_output=False))


def _text_of_kernel(file: str) -> str:
    """The text of a module that Inductor generated; empty for any other file."""
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, ValueError):
        return ""
    return text if aot_id(text)[0] else ""


def _lost(graph: Graph) -> Tuple[str, ...]:
    """The stages that this graph must have gone through and that torch did not keep."""
    there = {part.stage for part in graph.stages}
    trains = BACKWARD in there or any(part.made_for in ("forward", "backward") for part in graph.kernels)
    through = [CAPTURED]
    if graph.kernels:
        through += [STAGES[PRE_GRAD], FORWARD, STAGES[POST_GRAD]]
    if trains:
        through += [_JOINT, BACKWARD]
    order = list(dict.fromkeys(STAGES.values()))
    return tuple(sorted(set(through) - there, key=order.index))


def _note_what_runs(graph: Graph) -> None:
    """Kernels where there are any, else the graphs of AOTAutograd, else the captured one."""
    for stages in ((FORWARD, BACKWARD), (CAPTURED,)):
        parts = graph.kernels or [part for part in graph.stages if part.stage in stages]
        for part in parts:
            part.runs = True
        if parts:
            return
