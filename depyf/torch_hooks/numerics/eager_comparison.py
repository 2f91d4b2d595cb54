"""`compare`: run a function compiled and eagerly, graph by graph, and find the first node whose values differ."""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, Callable, Dict, Iterator, List, Tuple

from depyf.errors import UserError
from depyf.record.records import Location
from depyf.record.stack_text import read_stack
from depyf.torch_hooks.frames.cache_entries import running_codes
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.numerics.graph_replay import KeptInputs, keep_inputs
from depyf.torch_hooks.numerics.graph_runs import run, run_in_float64, value_nodes
from depyf.torch_hooks.numerics.node_search import find_backward, find_forward
from depyf.torch_hooks.numerics.numeric_report import BACKWARD, FORWARD
from depyf.torch_hooks.numerics.operation_sites import innermost
from depyf.torch_hooks.numerics.program_state import ProgramState
from depyf.torch_hooks.numerics.saved_comparison import write_script
from depyf.torch_hooks.numerics.value_differences import ValueDifference, first_difference

_MANY = 1_000_000
_SETTINGS = (
    ("torch._inductor.config", "fallback_random", True),
    ("torch._dynamo.config", "recompile_limit", _MANY),
    ("torch._dynamo.config", "accumulated_recompile_limit", _MANY),
    ("torch._dynamo.config", "cache_size_limit", _MANY),
    ("torch._dynamo.config", "accumulated_cache_size_limit", _MANY),
)


@dataclass(frozen=True)
class GraphDifference:
    """The first graph, and its first node, that compiled code computes otherwise than eager code."""

    graph: int  # in the order in which graphs were called first, from 0
    direction: str  # FORWARD or BACKWARD
    values: ValueDifference
    node: str = ""  # name in the captured graph; empty where no single node shows it
    operation: str = ""
    user: Location | None = None
    module: Any = field(default=None, repr=False, compare=False)
    kept: KeptInputs | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [f"graph {self.graph} differs ({self.direction}): {self.values}"]
        if self.user is not None:
            lines.append(f"  at {self.user.file}:{self.user.line} in {self.user.function}: {self.user.code}")
        what = (
            f"node {self.node}: {self.operation}"
            if self.node
            else "no node by itself shows it: the graph as a whole does"
        )
        return "\n".join([*lines, f"  {what}"])


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; true where graphs were compared and nothing differs."""

    backend: str
    graphs: int  # compared
    difference: GraphDifference | None
    result: Any = field(default=None, repr=False, compare=False)  # what the compiled function returned

    def __bool__(self) -> bool:
        return self.difference is None and self.graphs > 0

    def __str__(self) -> str:
        if not self.graphs:
            return "no graph was compiled, and so nothing was compared"
        graphs = "1 graph" if self.graphs == 1 else f"{self.graphs} graphs"
        head = f"{graphs} compiled by {self.backend} and run eagerly, with eager's random numbers"
        return f"{head}:" + (" no difference" if self.difference is None else f"\n{self.difference}")

    def save(self, folder: str | Path) -> str:
        """Write a script that shows the difference by itself, with the graph and its inputs; return its path."""
        found = self.difference
        if found is None or found.module is None or found.kept is None:
            raise UserError("nothing differs: there is nothing to save")
        return write_script(Path(folder), found.module, found.kept, self.backend, str(found))


class Comparer:
    """Compares functions with one backend."""

    def __init__(self, backend: Any = None, gradients: bool = True) -> None:
        self._backend = backend
        self._gradients = gradients

    def __call__(self, function: Any = None, *args: Any, **kwargs: Any) -> Comparison:
        """Run `function(*args, **kwargs)` compiled, and each of its graphs eagerly beside it, gradients too.

        A function or module that torch.compile returned is compared with its own backend, any other with Inductor. The
        first graph, and in it the first node, whose values differ beyond rounding is found. What the call changes is
        put back: arguments, parameters, buffers, gradients, optimizers that the function leads to, random state.
        """
        import torch

        _check_call(function, kwargs)
        plain, own_backend = unwrapped(function)
        backend = self._backend or own_backend or "inductor"
        _check_backend(backend)
        shadow = _Shadow(backend, self._gradients)
        state = ProgramState(plain, (args, kwargs))
        compiled = torch.compile(plain, backend=shadow)
        try:
            with _settings(), _own_cache_entries():
                result = compiled(*args, **kwargs)
        finally:
            state.put_back()
        return Comparison(_name_of(backend), shadow.graphs, shadow.found, result)

    def using(self, backend: Any = None, gradients: bool = True) -> Comparer:
        """Return a `compare` for a backend; `gradients`: whether backwards are compared, too."""
        return Comparer(backend, gradients)


class _Shadow:
    """A backend around a backend: each graph that it compiles is compared when it is first called."""

    def __init__(self, backend: Any, gradients: bool) -> None:
        self._backend = backend
        self._gradients = gradients
        self._numbers = itertools.count()
        self.graphs = 0
        self.found: GraphDifference | None = None

    def __call__(self, module: Any, inputs: Any) -> Callable[..., Any]:
        compiled = self._compile_module(module, inputs)
        number = next(self._numbers)
        called: List[int] = []

        def call(*args: Any) -> Any:
            if not called and self.found is None:
                called.append(number)
                self._compare(number, module, compiled, keep_inputs(args))
            return compiled(*args)

        return call

    def _compile_module(self, module: Any, inputs: Any) -> Callable[..., Any]:
        import torch

        backend = torch._dynamo.lookup_backend(self._backend) if isinstance(self._backend, str) else self._backend
        compiled: Callable[..., Any] = backend(copy.deepcopy(module), list(inputs))
        return compiled

    def _compare(self, number: int, module: Any, compiled: Callable[..., Any], kept: KeptInputs) -> None:
        self.graphs += 1
        ours, eager = run(compiled, kept, self._gradients), run(module, kept, self._gradients)
        exact = None
        for direction, own, others in (
            (FORWARD, ours.outputs, eager.outputs),
            (BACKWARD, ours.gradients, eager.gradients),
        ):
            if first_difference(own, others) is None:
                continue
            exact = exact or run_in_float64(module, kept, self._gradients)
            precise = None if exact is None else exact.outputs if direction == FORWARD else exact.gradients
            found = first_difference(own, others, precise)
            if found is not None:
                self.found = self._located(number, direction, module, kept, found[1])
                return

    def _located(
        self, number: int, direction: str, module: Any, kept: KeptInputs, values: ValueDifference
    ) -> GraphDifference:
        search = find_forward if direction == FORWARD else find_backward
        node = None
        if value_nodes(module):
            found = search(module, kept, self._compile_module)
            if found is not None:
                node, values = found
        if node is None:
            return GraphDifference(number, direction, values, module=module, kept=kept)
        user = innermost(read_stack(str(node.meta.get("stack_trace") or "")))
        operation = str(getattr(node.target, "__name__", node.target))
        return GraphDifference(number, direction, values, node.name, operation, user, module, kept)


def _check_call(function: Any, kwargs: Dict[str, Any]) -> None:
    if not callable(function):
        given = "" if function is None else f"{type(function).__name__}, ..."
        raise UserError(f"compare({given}): expected a function or module, and then its arguments")
    if "backend" in kwargs and not _accepts(function, "backend"):
        raise UserError(
            "compare(backend=...): keywords are the function's own; use compare.using(backend=...)(function)"
        )


def _accepts(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters
    except (TypeError, ValueError):  # some builtins
        return True
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _check_backend(backend: Any) -> None:
    import torch

    if isinstance(backend, str):
        try:
            torch._dynamo.lookup_backend(backend)
        except torch._dynamo.exc.InvalidBackend as error:
            known = ", ".join(["eager", "aot_eager", *torch._dynamo.list_backends()])
            raise UserError(f"compare: torch has no backend {backend!r}; those that it has: {known}") from error


def unwrapped(function: Any) -> Tuple[Any, Any]:
    """Return the function that was given to torch.compile, and the backend; the function and None if it was not."""
    context = getattr(function, "dynamo_ctx", None)
    if context is not None and hasattr(function, "_orig_mod"):
        return function._orig_mod, _innermost_backend(context.callback)
    plain = getattr(function, "_torchdynamo_orig_callable", None)
    if plain is None:
        return function, None
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(function.__code__.co_freevars if cells else (), cells):
        is_callback = name == "callback" or not isinstance(cell.cell_contents, FunctionType)
        if is_callback and _inner_backend(cell.cell_contents) is not None:
            return plain, _innermost_backend(cell.cell_contents)
    return plain, None


_CALLBACKS = ("torch._dynamo.convert_frame", "torch._dynamo.eval_frame")  # whose callbacks are functions in torch 2.2


def _innermost_backend(callback: Any) -> Any:
    inner = _inner_backend(callback)
    while inner is not None:
        callback, inner = inner, _inner_backend(inner)
    return callback


def _inner_backend(callback: Any) -> Any:
    """Return the backend inside a callback of Dynamo's; None for anything else. 2.8 and older: under another name."""
    if isinstance(callback, FunctionType) and callback.__globals__.get("__name__") not in _CALLBACKS:
        return None
    older = getattr(callback, "_torchdynamo_orig_callable", None)
    return getattr(callback, "_torchdynamo_orig_backend", older)


def _name_of(backend: Any) -> str:
    name = backend if isinstance(backend, str) else getattr(backend, "compiler_name", None)
    return str(name or getattr(backend, "__name__", type(backend).__name__))


@contextmanager
def _settings() -> Iterator[None]:
    """Have Inductor take its random numbers from eager's generators, and Dynamo compile however often it has before."""
    with ExitStack() as stack:
        for module, name, value in _SETTINGS:
            config = sys.modules.get(module) or importlib.import_module(module)
            if hasattr(config, name):
                stack.enter_context(config.patch({name: value}))
        yield


@contextmanager
def _own_cache_entries() -> Iterator[None]:
    """Take out of Dynamo's caches what was compiled inside, of functions that had no compiled versions before."""
    before = {id(code) for code, _ in running_codes()}
    yield
    reset = private_hooks.find("reset_code")
    for code in [code for code, _ in running_codes() if id(code) not in before] if reset is not None else ():
        reset(code)


compare = Comparer()
