"""Stages of custom backends: some call `lazy_format_graph_code("before split", module)` to announce one.

Torch's own function only formats a log line.  While a session runs, the name is bound to a function that also
hands over the graph; torch's function itself is not changed, and the names are bound back at the end.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable, Iterable, List, Tuple

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled

_ROWS = ("graph_formatter", "graph_formatter_of_fx")  # of the table of private hooks
_NOT_LOOKED_AT = ("torch.", "depyf.")  # beginnings of names of modules: a third of all are depyf's own


@dataclass(frozen=True)
class CustomStage:
    """A stage that a custom backend announced."""

    name: str  # as the backend calls it: "before split"
    text: str  # the graph as torch prints it


def attach(receive: Callable[[CustomStage], None]) -> Callable[[], None]:
    """Call `receive` for each announced stage; returns the function that stops it."""
    originals = [private_hooks.find(row) for row in _ROWS]
    replaced: List[Tuple[Any, Any]] = []
    bound: List[str] = []
    before = dict.fromkeys(sys.modules)
    for original in {id(function): function for function in originals if function is not None}.values():
        replacement = _announcing(original, receive)
        bound += _bind(original, replacement, before)
        replaced.append((original, replacement))

    def detach() -> None:
        # also in modules that were imported, and bound the name, in the meantime
        names = [*bound, *[name for name in list(sys.modules) if name not in before]]
        for original, replacement in replaced:
            _bind(replacement, original, names)

    return detach


def _bind(old: Any, new: Any, modules: Iterable[str]) -> List[str]:
    """Bind the function's name anew in torch and in modules of others that imported it; returns those changed."""
    rows = [private_hooks.hook(row) for row in _ROWS]
    homes, attributes = {row.module for row in rows}, {row.attribute for row in rows}
    bound = []
    for name in modules:
        if not name.startswith(_NOT_LOOKED_AT) or name in homes:
            module = sys.modules.get(name)
            for attribute in attributes if isinstance(module, ModuleType) else ():
                if vars(module).get(attribute) is old:
                    setattr(module, attribute, new)
                    bound.append(name)
    return bound


def _announcing(original: Any, receive: Callable[[CustomStage], None]) -> Any:
    @with_dynamo_disabled
    def announce(name: str, graph_module: Any) -> None:
        receive(CustomStage(str(name), _readable(graph_module)))

    @skipped_by_dynamo
    @functools.wraps(original)
    def formatter(name: str, graph_module: Any, *args: Any, **kwargs: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        if caller.split(".")[0] != "torch":  # torch's own stages come through the structured trace
            announce(name, graph_module)
        return original(name, graph_module, *args, **kwargs)

    return formatter


def _readable(graph_module: Any) -> str:
    try:
        return str(graph_module.print_readable(print_output=False))
    except Exception:
        return str(getattr(graph_module, "code", ""))
