"""What a compiled graph's entry point leads to: the generated functions that can run.

Backends wrap the code they make in closures, bound methods, partial objects and autograd functions of their
own design.  Instead of knowing each of these designs, `reachable` follows references, as the garbage
collector sees them, from the entry point, and stops at what cannot lead to generated code.
"""

from __future__ import annotations

import gc
from collections import deque
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Deque, Dict, Iterable, Iterator, List, Tuple

_MOST_OBJECTS = 20_000  # an entry point leads to a few hundred; more means a path into the user's data
_ATOMS = (str, bytes, bytearray, int, float, complex, type(None), CodeType, ModuleType, BuiltinFunctionType)


@dataclass
class Reachable:
    """Generated code found from one entry point, nearest first."""

    graph_modules: List[Any] = field(default_factory=list)  # torch.fx.GraphModule, nested ones included
    functions: List[FunctionType] = field(default_factory=list)  # all Python functions met on the way

    def by_module_file(self) -> Dict[str, List[FunctionType]]:
        """The functions by the file of the module that they live in."""
        found: Dict[str, List[FunctionType]] = {}
        for function in self.functions:
            file = function.__globals__.get("__file__")
            if isinstance(file, str):
                found.setdefault(file, []).append(function)
        return found


def reachable(entry: Any) -> Reachable:
    """Follow references from `entry`.  Runs no code of the objects it passes."""
    import torch

    operators = (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))
    dead_ends = _ATOMS + (torch.Tensor, torch.fx.Graph, torch.fx.Node) + operators
    found = Reachable()
    seen = {id(entry)}
    alive = [entry]  # keeps ids valid
    queue: Deque[Any] = deque([entry])
    while queue and len(alive) < _MOST_OBJECTS:
        thing = queue.popleft()
        if issubclass(type(thing), torch.fx.GraphModule):
            found.graph_modules.append(thing)
            followed: Iterable[Any] = _inner_graph_modules(thing, torch.fx.GraphModule)
        elif type(thing) is FunctionType:
            found.functions.append(thing)
            followed = _of_function(thing)
        elif issubclass(type(thing), type):
            # AOTAutograd keeps its compiled graphs as attributes of an autograd.Function that it makes
            followed = list(vars(thing).values()) if issubclass(thing, torch.autograd.Function) else ()
        elif type(thing) is dict and "__builtins__" in thing:
            followed = ()  # the globals of a module
        else:
            followed = gc.get_referents(thing)
        for item in followed:
            if id(item) not in seen and not issubclass(type(item), dead_ends):
                seen.add(id(item))
                alive.append(item)
                queue.append(item)
    return found


def _of_function(function: FunctionType) -> List[Any]:
    return [
        *_cells(function.__closure__ or ()),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *vars(function).values(),
    ]


def _cells(cells: Tuple[Any, ...]) -> Iterator[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            pass


def _inner_graph_modules(module: Any, kind: type) -> List[Any]:
    return [inner for inner in module.__dict__.get("_modules", {}).values() if isinstance(inner, kind)]
