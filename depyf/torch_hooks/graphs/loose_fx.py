"""fx code that is generated while the session runs but belongs to no graph of Dynamo's.

By default nothing of it reaches the folder; on request it is written at the end, and linked.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, FrozenSet, Iterator

from depyf.decompiler.recompile.relabelling import move
from depyf.torch_hooks.disk.folder import OutputFolder
from depyf.torch_hooks.graphs.graph_text import as_python
from depyf.torch_hooks.graphs.linking import is_linked_into
from depyf.torch_hooks.internals import torch_facts
from depyf.torch_hooks.internals.stable_names import stable_text


def graph_module_classes() -> FrozenSet[Any]:
    """The class of each graph module that lives now: torch makes one for every module."""
    import torch

    return frozenset(_subclasses(torch.fx.GraphModule))


def _subclasses(cls: Any) -> Iterator[Any]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def write_rest(folder: OutputFolder, before: FrozenSet[Any]) -> None:
    """Write the forward of each graph module made since `before` that is linked to no file."""
    import torch

    sources = torch_facts.find("fx_sources") or {}
    for cls in _subclasses(torch.fx.GraphModule):
        forward = vars(cls).get("forward")
        if cls in before or not isinstance(forward, FunctionType) or is_linked_into(forward, folder.path):
            continue
        text = sources.get(forward.__code__.co_filename)
        if isinstance(text, str):
            name = f"fx_graph_code_{folder.number('fx_graph_code_{}.py')}.py"
            folder.write(name, as_python(stable_text(text)))
            forward.__code__ = move(forward.__code__, folder.of(name))
