"""The order of bytecode hooks: where depyf's stands among those of others.

Dynamo calls the hooks in the order in which they were registered, each with the code that the one before it returned.
A program that reads Dynamo's bytecode through a hook of its own must find what it finds without depyf.  So depyf's hook
goes behind all others, also those registered later, and decompiles what they return.  Only hooks that the module which
entered the context registers after that stay behind it: the user of depyf may want to see its result.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any, Callable, List, Tuple

from depyf.torch_hooks.internals import private_hooks


def attach(hook: Callable[..., Any], opened_by: str) -> Tuple[Callable[[], None], Callable[[], None]]:
    """Register `hook`; returns the function that removes it and the one that moves it to its place.

    Call the second when a compilation starts: Dynamo compiles in one thread at a time and calls the hooks at the end,
    so that none is being called then.
    """
    register = private_hooks.find("register_bytecode_hook")
    if register is None:
        raise RuntimeError(private_hooks.hook("register_bytecode_hook").without)
    handle = register(hook)

    def move_to_place() -> None:
        hooks = private_hooks.find("bytecode_hooks")
        if isinstance(hooks, OrderedDict):
            for number in _to_move(hooks, getattr(handle, "id", None), opened_by):
                hooks.move_to_end(number)

    return handle.remove, move_to_place


def _to_move(hooks: OrderedDict[Any, Any], own: Any, opened_by: str) -> List[Any]:
    """Return the numbers of the hooks to move to the end, in this order."""
    numbers = list(hooks)
    if own not in hooks or numbers[-1] == own:
        return []
    later = numbers[numbers.index(own) + 1 :]
    stay = [number for number in later if module_of(hooks[number]) == opened_by]
    return [] if stay == later else [own, *stay]


def module_of(hook: Any) -> str:
    """Return the name of the module that defines a hook."""
    return str(getattr(getattr(hook, "__func__", hook), "__module__", ""))


def calling_module(depth: int) -> str:
    """Return the name of the module of the function `depth` calls above the caller."""
    try:
        return str(sys._getframe(depth + 1).f_globals.get("__name__", ""))
    except ValueError:
        return ""
