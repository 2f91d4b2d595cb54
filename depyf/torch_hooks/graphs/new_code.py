"""Notice generated code when it appears: forwards of graph modules, and modules that Inductor loads.

A backend may keep code where no way from the compiled graph leads to, such as a global. It may generate code after it
has returned: when a graph, or a piece of it, is first called with some shape. The names of a few functions of torch's
are bound to ones that also report what was made, and bound back at the end.
"""

from __future__ import annotations

import functools
import sys
import weakref
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Callable

from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.dynamo_disabled import skipped_by_dynamo, with_dynamo_disabled

Detach = Callable[[], None]

_MAKER = "recompile"  # the method of a graph module that generates its forward


@dataclass(frozen=True)
class NewForward:
    """The forward of a graph module, just generated."""

    function: Callable[[], Any]  # a weak reference to it
    source: str


def attach_to_fx(receive: Callable[[NewForward], None]) -> Detach | None:
    """Call `receive` for each forward that fx generates; returns the function that stops it."""
    found = [_attach_to_row(row, calls, receive) for row, calls in _FX_ROWS.items()]
    attached = [detach for detach in found if detach is not None]

    def detach_all() -> None:
        for detach in attached:
            detach()

    return detach_all if attached else None


# Row -> how many calls below the maker it is called: while Dynamo compiles, it puts a function of its own in between.
_FX_ROWS = {"forward_from_source": 1, "forward_from_source_in_dynamo": 2}


def _attach_to_row(name: str, calls: int, receive: Callable[[NewForward], None]) -> Detach | None:
    row = private_hooks.hook(name)
    original = private_hooks.find(name)
    if original is None:
        return None
    report = with_dynamo_disabled(receive)

    @skipped_by_dynamo
    @functools.wraps(original)
    def forward_from_source(src: str, *args: Any, **kwargs: Any) -> Any:
        function = original(src, *args, **kwargs)
        if isinstance(function, FunctionType) and sys._getframe(calls).f_code.co_name == _MAKER:
            report(NewForward(weakref.ref(function), src))
        return function

    module = sys.modules[row.module]
    setattr(module, row.attribute, forward_from_source)

    def detach() -> None:
        if getattr(module, row.attribute, None) is forward_from_source:
            setattr(module, row.attribute, original)

    return detach


def attach_to_inductor(receive: Callable[[str, Any], None]) -> Detach | None:
    """Call `receive` with path and module for each that Inductor loads; None as long as Inductor is not loaded."""
    row = private_hooks.hook("load_by_key_path")
    if private_hooks.find_loaded(row.name) is None:
        return None
    holder, name = private_hooks.find_holder(row.name)
    original = vars(holder).get(name)
    if not isinstance(original, classmethod):
        return None
    report = with_dynamo_disabled(receive)

    @functools.wraps(original.__func__)
    def load(cls: Any, *args: Any, **kwargs: Any) -> Any:
        module = original.__func__(cls, *args, **kwargs)
        report(str(getattr(module, "__file__", "")), module)
        return module

    replacement = classmethod(load)
    setattr(holder, name, replacement)

    def detach() -> None:
        if vars(holder).get(name) is replacement:
            setattr(holder, name, original)

    return detach
