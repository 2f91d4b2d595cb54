"""Find the generated functions that the entry point of a compiled graph leads to.

Backends wrap the code they make in closures, bound methods, partial objects and autograd functions of their
own design.  Instead of handling each of these designs, follow references from the entry point, as the garbage
collector does, and stop at objects that cannot lead to generated code.  What is found may run; what ran is seen
afterwards (`execution_marks`).
"""

from __future__ import annotations

import functools
import gc
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from inspect import Signature
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Deque, Dict, FrozenSet, Iterable, Iterator, List, Set, Tuple

from depyf.torch_hooks.internals import private_hooks

_MOST_OBJECTS = 8_000  # an entry point leads to a few hundred; more means a path into the user's data
_ATOMS = (str, bytes, bytearray, int, float, complex, type(None), CodeType, ModuleType)

_BACKWARD_TO_COMPILE = "bw_module"  # what AOTAutograd calls that graph


@dataclass
class ReachableCode:
    """The graph modules (nested ones included) and Python functions that an entry point leads to, nearest first."""

    modules: List[Any] = field(default_factory=list)
    functions: List[FunctionType] = field(default_factory=list)
    interpreters: Dict[int, str] = field(default_factory=dict)  # id of a module -> class that runs it node by node
    recorded: Set[int] = field(default_factory=set)  # ids of what is called to record a CUDA graph, not by its replay


def is_handed_over(module: Any) -> bool:
    """Return whether a graph module is the one that Dynamo handed to the backend, or a copy that has its `meta`.

    AOTAutograd keeps it and does not run it. Torch 2.4 and older put no mark into `meta`.
    """
    return "dynamo_compile_id" in module.meta or "compile_subgraph_reason" in vars(module)


def reachable_code(entry: Any) -> ReachableCode:
    """Return the code that `entry` leads to; none of the objects on the way is run."""
    found = ReachableCode()
    alive: List[Any] = []  # keeps ids valid
    for thing in _reachable(entry, alive):
        if isinstance(thing, FunctionType):
            found.functions.append(thing)
            _add_interpreted(found, [thing], _cells(thing.__closure__ or ()))
            if _records_cuda_graphs(thing):
                found.recorded.update(id(inner) for inner in _reachable(thing, alive))
        elif _is_graph_module(thing):
            found.modules.append(thing)
        elif _is_interpreter(type(thing)):
            found.interpreters[id(vars(thing).get("module"))] = type(thing).__name__
        else:
            _add_interpreted(found, _methods_of(type(thing)), _attributes_of(thing))
    return found


def _reachable(entry: Any, alive: List[Any]) -> Iterator[Any]:
    """Yield the functions, graph modules, interpreters and callable objects that `entry` leads to."""
    dead_ends = _dead_ends()
    is_dead_end: Dict[type, bool] = {}
    seen = {id(entry)}
    queue: Deque[Any] = deque([entry])
    most = len(alive) + _MOST_OBJECTS
    while queue and len(alive) < most:
        thing = queue.popleft()
        yield thing
        for item in _leads_to(thing):
            kind = type(item)
            if kind not in is_dead_end:
                is_dead_end[kind] = issubclass(kind, dead_ends)
            if not is_dead_end[kind] and id(item) not in seen:
                seen.add(id(item))
                alive.append(item)
                queue.append(item)


def _dead_ends() -> Tuple[type, ...]:
    import torch

    # The first holds code which does not run: a copy of it does, once it is compiled. The second has no code.
    rows = map(private_hooks.find_loaded, ("backward_to_compile", "value_sources"))
    never_run = tuple(found for found in rows if isinstance(found, type))
    return _ATOMS + (torch.Tensor, torch.fx.Graph, torch.fx.Node, Signature) + _operators() + never_run


@functools.lru_cache(maxsize=None)
def _operators() -> Tuple[type, ...]:
    import torch

    return type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor)


# -- interpreters


def _add_interpreted(found: ReachableCode, functions: Iterable[FunctionType], values: Iterable[Any]) -> None:
    """Record the graph modules among `values`, which the functions read, if one of these runs them node by node.

    So does `aot_eager` of torch 2.9; that of torch 2.13 and 2.15 calls the forward.
    """
    graph_module = _graph_module()
    modules = {id(value) for value in values if issubclass(type(value), graph_module)}
    for name in map(_interpreter_in, functions if modules else ()):
        if name:
            found.interpreters.update(dict.fromkeys(modules, name))


def _interpreter_in(function: FunctionType) -> str:
    """Return the name of the interpreter that a function makes; empty if it makes none."""
    for name in function.__code__.co_names:
        if name == "Interpreter" or _is_interpreter(function.__globals__.get(name)):
            return name
    classes = [value for value in _cells(function.__closure__ or ()) if _is_interpreter(value)]
    return str(classes[0].__name__) if classes else ""


def _is_interpreter(kind: Any) -> bool:
    import torch

    return isinstance(kind, type) and issubclass(kind, torch.fx.Interpreter)


def _methods_of(kind: type) -> Iterator[FunctionType]:
    """Yield the methods of a class that is neither torch's nor Python's, except those that it inherits from these."""
    for base in kind.__mro__:
        if base.__module__.split(".")[0] not in _FOREIGN:
            yield from (method for method in vars(base).values() if isinstance(method, FunctionType))


_FOREIGN = frozenset(("torch", "builtins", "functools", "weakref", "collections", "typing", "enum", "sympy"))


def _attributes_of(thing: Any) -> Iterator[Any]:
    """Yield the attributes of an object, and the modules inside one of torch's."""
    for item in gc.get_referents(thing):
        yield item
        if type(item) is dict:
            yield from item.values()
            if type(item.get("_modules")) in (dict, OrderedDict):
                yield from item["_modules"].values()


# -- CUDA graphs


def _records_cuda_graphs(function: FunctionType) -> bool:
    """Return whether the function calls what it leads to in order to record a CUDA graph, and replays that later."""
    rows = map(private_hooks.hook, ("record_cuda_graphs", "record_cuda_graph_trees"))
    return any(function.__module__ == row.module and function.__qualname__.startswith(row.attribute) for row in rows)


# -- references


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
    if kind is dict and _is_table_of_torch(thing):
        return ()
    return gc.get_referents(thing)


def _is_table_of_torch(table: Dict[Any, Any]) -> bool:
    """Return whether a dictionary leads to no generated code but to very much: globals, or a table of operators."""
    first = next(iter(table), None)
    return "__builtins__" in table or "__spec__" in table or isinstance(first, _operators())


def _of_function(function: FunctionType) -> List[Any]:
    return [
        *_cells(_cells_that_run(function)),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *vars(function).values(),
        *_private_globals(function),
    ]


def _cells_that_run(function: FunctionType) -> Tuple[Any, ...]:
    """Return the cells of a function without that of the backward graph which waits to be compiled (torch 2.2)."""
    cells, names = function.__closure__ or (), function.__code__.co_freevars
    maker = private_hooks.hook("backward_maker")
    if _BACKWARD_TO_COMPILE not in names or function.__module__ != maker.module:
        return cells
    return tuple([cell for name, cell in zip(names, cells) if name != _BACKWARD_TO_COMPILE])


def _private_globals(function: FunctionType) -> Iterable[Any]:
    """Return the globals of a generated function that belongs to no module (the wrappers of torch 2.15)."""
    return () if "__name__" in function.__globals__ else list(function.__globals__.values())


def _cells(cells: Tuple[Any, ...]) -> Iterator[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            pass


def _is_graph_module(thing: Any) -> bool:
    return issubclass(type(thing), _graph_module())


@functools.lru_cache(maxsize=None)
def _graph_module() -> type:
    import torch

    found: type = torch.fx.GraphModule
    return found


def _inner_modules(module: Any) -> List[Any]:
    """Return what a graph module calls: modules, and what a backend put in the place of one, as a module or not."""
    attributes = vars(module)
    own = [value for name, value in attributes.items() if name not in _own_attributes()]
    return [*own, *attributes.get("_modules", {}).values()]


@functools.lru_cache(maxsize=None)
def _own_attributes() -> FrozenSet[str]:
    """Return the names of attributes of each graph module that lead to nothing that it calls."""
    import torch

    return frozenset(vars(torch.nn.Module())) | {"_graph", "_code", "_lineno_map", "meta", "_in_spec", "_out_spec"}
