"""Which module of a model it is: the path from the outermost module that was compiled, as a person writes it.

A model calls one method for each of its layers, and "another T5Block" may be any of them.  Dynamo names modules by the
variables of a frame; where it starts on a method of a module that is part of no other known one, the paths of all
modules inside it are noted.
"""

from __future__ import annotations

import functools
import re
import sys
import weakref
from types import CodeType
from typing import Any, Dict, Iterator, List, NamedTuple, Set, Tuple

_MOST_HOOKED = 3  # modules that are named for one hook
_NUMBER = re.compile(r"(?:^|\.)(\d+)(?=\.|$)")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")  # where a module has them
_CALLS_HOOKS = "torch.nn.modules.module"  # the module of torch's that calls hooks, from a variable `hook`
_CALL_DYNAMO = ("contextlib", "torch._", "depyf.")  # by way of these torch 2.4 calls Dynamo from the frame it considers


class Hooked(NamedTuple):
    """The modules that a function is a hook of."""

    paths: Tuple[str, ...] = ()  # of a few
    number: int = 0


class ModulePaths:
    """The paths of modules; they are not kept alive."""

    def __init__(self) -> None:
        # by id: with its name in the outermost one, and the class of that
        self._known: Dict[int, Tuple[weakref.ref[Any], str, str]] = {}
        self._outermost: List[weakref.ref[Any]] = []

    def of(self, module: Any) -> str:
        """Return the path of a module inside the outermost one, `encoder.block[0]`; empty for that itself."""
        found = self._known.get(id(module))
        if found is None or found[0]() is not module:
            self._add(module)
            found = self._known[id(module)]
        return _written(found[1], found[2])

    def _add(self, outermost: Any) -> None:
        self._outermost = [one for one in self._outermost if one() is not None] + [weakref.ref(outermost)]
        class_name = type(outermost).__name__
        for name, module in _inside(outermost):
            self._known[id(module)] = (weakref.ref(module), name, class_name)

    def hooked_by(self, function: Any) -> Hooked:
        """Return the modules that have this function as a forward hook or a hook before it."""
        found: Dict[str, None] = {}
        for reference in self._outermost:
            outermost = reference()
            for _, module in _inside(outermost) if outermost is not None else ():
                hooks = [hook for name in _HOOKS for hook in vars(module).get(name, {}).values()]
                if any(hook is function for hook in hooks):
                    found[self.of(module) or type(module).__name__] = None
        return Hooked(tuple(found)[:_MOST_HOOKED], len(found))


def _inside(outermost: Any) -> Iterator[Tuple[str, Any]]:
    """Yield a module and those inside it with their names, each once; no method is called: it may be overridden."""
    waiting: List[Tuple[str, Any]] = [("", outermost)]
    passed: Set[int] = set()
    while waiting:
        prefix, module = waiting.pop()
        if module is None or id(module) in passed:
            continue
        passed.add(id(module))
        yield prefix, module
        parts = list(vars(module).get("_modules", {}).items())
        waiting += [(f"{prefix}.{name}" if prefix else name, part) for name, part in reversed(parts)]


def hook_in_progress() -> Any:
    """Return the hook of a module that Dynamo, which has called depyf in this thread, considers; None for others."""
    frame: Any = sys._getframe(1)
    considered: Any = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("torch._dynamo."):
            code = getattr(frame.f_locals.get("frame"), "f_code", None)
            considered = considered or (code if isinstance(code, CodeType) else None)
        elif considered is not None and not module.startswith(_CALL_DYNAMO):
            hook = frame.f_locals.get("hook") if module == _CALLS_HOOKS else None
            return hook if _has_code(hook, considered) else None
        frame = frame.f_back
    return None


def _has_code(hook: Any, code: CodeType) -> bool:
    """Return whether a call of the hook runs this code: it may be a partial, or an object with a `__call__`."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    own = getattr(hook, "__code__", None) or getattr(vars(type(hook)).get("__call__"), "__code__", None)
    return own is code


def _written(name: str, outermost: str) -> str:
    """Write `block.0.layer` as Python does: block[0].layer."""
    path = _NUMBER.sub(r"[\1]", name)
    return outermost + path if path.startswith("[") else path
