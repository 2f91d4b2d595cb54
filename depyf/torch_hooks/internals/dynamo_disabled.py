"""Disable Dynamo inside depyf's own callbacks.

Most hooks are called in the middle of a compilation, when Dynamo considers no frame. But the backward of a graph is
compiled when it first runs, and in a training step that is compiled as a whole (`loss.backward()` breaks the graph and
runs eagerly) Dynamo considers each frame that is called then: depyf's own, which events of the structured trace reach.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from depyf.torch_hooks.internals import private_hooks

Function = TypeVar("Function", bound=Callable[..., Any])


def with_dynamo_disabled(function: Function) -> Function:
    """Return the function, with Dynamo disabled while it runs."""
    set_callback = private_hooks.find("set_eval_frame")
    if set_callback is None:
        return function

    @functools.wraps(function)
    def unseen(*args: Any, **kwargs: Any) -> Any:
        before = set_callback(None)
        try:
            return function(*args, **kwargs)
        finally:
            set_callback(before)

    return skipped_by_dynamo(unseen)  # type: ignore[return-value]


def skipped_by_dynamo(function: Function) -> Function:
    """Mark a function as one that Dynamo skips, and return it; functions that it calls may be compiled."""
    skip = private_hooks.find("skip_code")
    code = getattr(function, "__code__", None)
    if skip is not None and code is not None:
        skip(code)
    return function
