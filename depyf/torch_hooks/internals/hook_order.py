"""Where depyf's bytecode hook stands among those of others.

Dynamo calls the hooks in the order in which they were registered, each with the code that the one before it gave back.
A program that looks at Dynamo's bytecode through a hook of its own must find what it finds without depyf.  So depyf's
hook goes behind all others, also those registered later, and decompiles what they give back.  Only hooks of the module
that entered the context, registered after that, stay behind it: whoever asked for depyf may want to see its result.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any, Callable, List, Tuple

from depyf.torch_hooks.internals import torch_facts


def attach(hook: Callable[..., Any], opened_by: str) -> Tuple[Callable[[], None], Callable[[], None]]:
    """Register `hook`; returns the function that takes it off and the one that puts it into its place.

    The place is to be taken when a compilation starts: Dynamo compiles in one thread at a time and goes through the
    hooks at the end, so nobody goes through them then.
    """
    register = torch_facts.find("register_bytecode_hook")
    if register is None:
        raise RuntimeError(torch_facts.hook("register_bytecode_hook").without)
    handle = register(hook)

    def take_place() -> None:
        hooks = torch_facts.find("bytecode_hooks")
        if isinstance(hooks, OrderedDict):
            for number in _to_move(hooks, getattr(handle, "id", None), opened_by):
                hooks.move_to_end(number)

    return handle.remove, take_place


def _to_move(hooks: OrderedDict[Any, Any], own: Any, opened_by: str) -> List[Any]:
    """The hooks to be moved to the end, in this order."""
    numbers = list(hooks)
    if own not in hooks or numbers[-1] == own:
        return []
    later = numbers[numbers.index(own) + 1 :]
    stay = [number for number in later if module_of(hooks[number]) == opened_by]
    return [] if stay == later else [own, *stay]


def module_of(hook: Any) -> str:
    """The module in which a hook is written."""
    return str(getattr(getattr(hook, "__func__", hook), "__module__", ""))


def calling_module(depth: int) -> str:
    """The module of the function `depth` calls above the one that asks."""
    try:
        return str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
    except ValueError:
        return ""
