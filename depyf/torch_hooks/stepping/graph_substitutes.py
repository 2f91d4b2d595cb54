"""Run the captured graph in the place of what a backend made of it: every line is a step, each effect happens once.

A fused kernel cannot be stepped through. While the context is open, the names by which transformed code calls its
graphs lead to the captured graph ("eager"), or to the graphs that AOTAutograd makes of it ("aot_eager"). The code that
runs carries the name and the lines of the file in the folder, where there is one.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, Dict, Iterator, List

from depyf.errors import UserError
from depyf.torch_hooks.graphs.generated_functions import forward_of, forwards_in, like_twin
from depyf.torch_hooks.graphs.graph_globals import GraphGlobal, graph_globals
from depyf.torch_hooks.internals.dynamo_disabled import with_dynamo_disabled

EAGER, AOT_EAGER = "eager", "aot_eager"
BACKENDS = (EAGER, AOT_EAGER)


@contextmanager
def substituted_graphs(backend: str, folder: str | None) -> Iterator[List[str]]:
    """Run graphs by `backend`; yields the names of graphs that cannot be, since nothing of them is left."""
    if backend not in BACKENDS:
        raise UserError(f"debug(backend={backend!r}): graphs can be stepped through with {' or '.join(BACKENDS)}")
    texts = _Files(folder)
    replaced, lost = [], []
    for one in list(graph_globals()):
        module = one.captured_module()
        if module is None:
            lost.append(one.graph)
            continue
        make = _eager if backend == EAGER else _aot_eager
        replaced.append((one, with_dynamo_disabled(make(one, module, texts))))
    for one, substitute in replaced:
        one.replace(substitute)
    try:
        yield sorted(lost)
    finally:
        for one, substitute in replaced:
            one.put_back(substitute)


def _eager(called: GraphGlobal, module: Any, texts: _Files) -> Callable[..., Any]:
    return texts.linked(called.graph, module) or module.forward


def _aot_eager(called: GraphGlobal, module: Any, texts: _Files) -> Callable[..., Any]:
    """Return a function that has AOTAutograd make its graphs when it is first called."""
    made: List[Callable[..., Any]] = []

    def call(*args: Any) -> Any:
        import torch

        if not made:
            made.append(torch._dynamo.lookup_backend(AOT_EAGER)(module, list(args)))
        return made[0](*args)

    return call


class _Files:
    """The texts of captured graphs in a folder, compiled once."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._forwards: Dict[str, List[CodeType]] = {}

    def linked(self, graph: str, module: Any) -> MethodType | None:
        """Return the forward of a graph module with the lines of its file; None where there is no such file."""
        forward = forward_of(module, generate=True)
        if forward is None:
            return None
        twin = like_twin(forward.__code__, self._codes(f"{graph}.Captured_Graph.0.py"))
        if twin is None:
            return None
        function = FunctionType(twin[1], forward.__globals__, forward.__name__, forward.__defaults__)
        return MethodType(function, module)

    def _codes(self, name: str) -> List[CodeType]:
        if name not in self._forwards:
            path = os.path.join(self._folder or "", name)
            self._forwards[name] = forwards_in(_read(path), path) if self._folder else []
        return self._forwards[name]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""
