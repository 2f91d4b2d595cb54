"""fx code that is generated while the session runs but belongs to no graph of Dynamo's.

By default none of it reaches the folder; on request it is written at the end, and linked.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, FrozenSet, Iterator

from depyf.decompiler.recompile.relabelling import move
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.graphs.generated_functions import is_linked_into
from depyf.torch_hooks.graphs.graph_text import as_python
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.stable_names import stable_text


class LooseFx:
    """Remembers the graph modules that exist when it is made, and writes those that came later."""

    def __init__(self) -> None:
        self._before: FrozenSet[Any] = frozenset(_graph_module_classes())

    def write(self, folder: OutputFolder) -> None:
        """Write the forward of each newer graph module that is linked to no file, and link it."""
        sources = private_hooks.find("fx_sources") or {}
        for cls in _graph_module_classes():
            forward = vars(cls).get("forward")
            if cls in self._before or not isinstance(forward, FunctionType) or is_linked_into(forward, folder.path):
                continue
            text = sources.get(forward.__code__.co_filename)
            if isinstance(text, str):
                name = f"fx_graph_code_{folder.number('fx_graph_code_{}.py')}.py"
                folder.write(name, as_python(stable_text(text)))
                forward.__code__ = move(forward.__code__, folder.of(name))


def _graph_module_classes() -> Iterator[Any]:
    """Yield the class of each graph module that exists: torch makes one for every module."""
    import torch

    return _subclasses(torch.fx.GraphModule)


def _subclasses(cls: Any) -> Iterator[Any]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
