"""Find the generated functions that the entry point of a compiled graph leads to.

Backends wrap the code they make in closures, bound methods, partial objects and autograd functions of their
own design.  Instead of handling each of these designs, follow references from the entry point, as the garbage
collector does, and stop at objects that cannot lead to generated code.
"""

from __future__ import annotations

import gc
from collections import deque
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Deque, Dict, Iterable, Iterator, List, Tuple

from depyf.torch_hooks.internals import private_hooks

_MOST_OBJECTS = 8_000  # an entry point leads to a few hundred; more means a path into the user's data
_NEARBY = 20  # objects still visited after `stop_soon`
_ATOMS = (str, bytes, bytearray, int, float, complex, type(None), CodeType, ModuleType)


class ReachableCode:
    """The graph modules (nested ones included) and Python functions that `entry` leads to, nearest first.

    Iterate over it, and call `stop_soon` once the code that runs is found: copies of it are nearby, and the rest may
    be large. No code of the objects on the way is run.
    """

    def __init__(self, entry: Any) -> None:
        self.alive = [entry]  # keeps ids valid
        self._most = _MOST_OBJECTS

    def stop_soon(self) -> None:
        """End the iteration after the next few objects."""
        self._most = min(self._most, len(self.alive) + _NEARBY)

    def __iter__(self) -> Iterator[Any]:
        import torch

        operators = (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))
        dead_ends = _ATOMS + (torch.Tensor, torch.fx.Graph, torch.fx.Node) + operators + _never_run()
        is_dead_end: Dict[type, bool] = {}
        seen = {id(self.alive[0])}
        queue: Deque[Any] = deque(self.alive)
        while queue and len(self.alive) < self._most:
            thing = queue.popleft()
            kind = type(thing)
            if issubclass(kind, torch.fx.GraphModule) or kind is FunctionType:
                yield thing
            for item in _leads_to(thing):
                kind = type(item)
                if kind not in is_dead_end:
                    is_dead_end[kind] = issubclass(kind, dead_ends)
                if not is_dead_end[kind] and id(item) not in seen:
                    seen.add(id(item))
                    self.alive.append(item)
                    queue.append(item)


def _never_run() -> Tuple[type, ...]:
    """Return types that hold code which does not run: a copy of it does, once it is compiled."""
    waiting = private_hooks.find_loaded("backward_to_compile")
    return (waiting,) if isinstance(waiting, type) else ()


def interpreted_by(function: FunctionType) -> List[Any]:
    """Return the graph modules that `function` runs node by node, so that their forward never runs.

    That is how `aot_eager` of torch 2.9 runs its graphs; that of torch 2.13 and 2.15 calls the forward.
    """
    import torch

    if "Interpreter" not in function.__code__.co_names:
        return []
    return [value for value in _cells(function.__closure__ or ()) if isinstance(value, torch.fx.GraphModule)]


def _leads_to(thing: Any) -> Iterable[Any]:
    import torch

    kind = type(thing)
    if issubclass(kind, torch.fx.GraphModule):
        return _inner_modules(thing)
    if kind is FunctionType:
        return _of_function(thing)
    if kind is BuiltinFunctionType:  # `apply` of an autograd.Function (torch 2.15)
        return (thing.__self__,) if issubclass(type(thing.__self__), type) else ()
    if issubclass(kind, type):
        # AOTAutograd keeps its compiled graphs as attributes of an autograd.Function that it makes
        return list(vars(thing).values()) if issubclass(thing, torch.autograd.Function) else ()
    if kind is dict and "__builtins__" in thing:
        return ()  # the globals of a module
    return gc.get_referents(thing)


def _of_function(function: FunctionType) -> List[Any]:
    return [
        *_cells(function.__closure__ or ()),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *vars(function).values(),
        *_private_globals(function),
    ]


def _private_globals(function: FunctionType) -> Iterable[Any]:
    """Return the globals of a generated function that belongs to no module (the wrappers of torch 2.15)."""
    return () if "__name__" in function.__globals__ else list(function.__globals__.values())


def _cells(cells: Tuple[Any, ...]) -> Iterator[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            pass


def _inner_modules(module: Any) -> List[Any]:
    """Return the modules inside: graph modules, and what a backend that splits graphs put in the place of one."""
    return list(module.__dict__.get("_modules", {}).values())
