"""What Dynamo of the installed torch gets through and guards, found by compiling a small function, without depyf."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterator

import torch

Function = Callable[[torch.Tensor], torch.Tensor]


def traces(function: Function) -> bool:
    """Return whether Dynamo makes one graph of a function."""
    torch._dynamo.reset()
    try:
        torch.compile(function, backend="eager", fullgraph=True)(torch.ones(2))
    except Exception:
        return False
    finally:
        torch._dynamo.reset()
    return True


def versions_for(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how often Dynamo compiles a function that gets these arguments one after the other."""
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend)
    for argument in arguments:
        compiled(torch.ones(2), argument)
    torch._dynamo.reset()
    return len(graphs)


class Countdown:
    left = 2

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


@functools.lru_cache(maxsize=None)
def own_iterators() -> bool:
    """Return whether an iterator of the program's own class is traced; 2.2: the graph breaks at the loop."""

    def f(x: torch.Tensor) -> torch.Tensor:
        for number in Countdown():
            x = x + number
        return x

    return traces(f)


@functools.lru_cache(maxsize=None)
def doubled(number: int) -> int:
    return number * 2


@functools.lru_cache(maxsize=None)
def cached_functions() -> bool:
    """Return whether what functools.lru_cache is put around is traced; 2.2: the graph breaks at the call."""
    return traces(lambda x: x * doubled(3))


@functools.lru_cache(maxsize=None)
def exceptions() -> bool:
    """Return whether an exception that the program raises and catches is traced; 2.2: the graph breaks where it is raised."""

    def f(x: torch.Tensor) -> torch.Tensor:
        try:
            raise ValueError("none")
        except ValueError:
            return x + 1

    return traces(f)


@functools.lru_cache(maxsize=None)
def transforms() -> bool:
    """Return whether torch.func.grad is traced; 2.2: only with an option."""
    return traces(lambda x: torch.func.grad(lambda y: y.sin().sum())(x))


class Counter(torch.nn.Module):
    number = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.number


@functools.lru_cache(maxsize=None)
def guards_attributes() -> bool:
    """Return whether a module is compiled again where an attribute of it has changed; 2.2: the old code runs."""
    module = Counter()
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="eager")
    compiled(torch.ones(2))
    module.number = 2
    is_right = torch.equal(compiled(torch.ones(2)), module(torch.ones(2)))
    torch._dynamo.reset()
    return is_right


@functools.lru_cache(maxsize=None)
def reads_values_late() -> bool:
    """Return whether an item of a dictionary is guarded where it is used; 2.2: where the dictionary is read."""

    def f(x: torch.Tensor, options: Dict[str, Dict[str, int]]) -> torch.Tensor:
        unused = options["inside"]
        return x + len(unused)

    return versions_for(f, {"inside": {"item": 5}}, {"inside": {"item": 6}}) == 1


def with_default(x: torch.Tensor, unused: int = 2) -> torch.Tensor:
    return x + 1


@functools.lru_cache(maxsize=None)
def reads_defaults_late() -> bool:
    """Return whether a default argument is guarded where it is used; 2.2: where the function is called."""
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda x: with_default(x) * 2, backend=backend)
    before = with_default.__defaults__
    try:
        for value in (5, 6):
            with_default.__defaults__ = (value,)
            compiled(torch.ones(2))
    finally:
        with_default.__defaults__ = before
        torch._dynamo.reset()
    return len(graphs) == 1
