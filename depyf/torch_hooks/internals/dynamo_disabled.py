"""While depyf works, Dynamo does not look: what it would compile there is depyf's own code.

Most hooks are called in the middle of a compilation, when Dynamo looks at no frame. But the backward of a graph is
compiled when it first runs, and in a training step that is compiled as a whole (`loss.backward()` breaks the graph and
runs eagerly) that is while Dynamo looks at each frame that is called: events of the structured trace come then, too.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from depyf.torch_hooks.internals import torch_facts

Function = TypeVar("Function", bound=Callable[..., Any])


def unseen_by_dynamo(function: Function) -> Function:
    """The function, with Dynamo looking away while it runs."""
    set_callback = torch_facts.find("set_eval_frame")
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
    """The same function, which Dynamo will not compile; what it calls Dynamo may."""
    skip = torch_facts.find("skip_code")
    code = getattr(function, "__code__", None)
    if skip is not None and code is not None:
        skip(code)
    return function
