"""Run only: cached code runs and nothing is compiled, on a torch without `torch.compiler.set_stance` (2.5 and older).

A compiled function sets Dynamo's callback when it is called: a function where frames may be compiled, False where only
cached code runs, None where Dynamo is off.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from depyf.torch_hooks.internals import private_hooks


@contextmanager
def run_only_callbacks() -> Iterator[None]:
    """Have compiled functions run what is cached for them, and the rest uncompiled."""
    original = private_hooks.find("set_callback")
    if original is None:
        yield
        return
    holder, name = private_hooks.find_holder("set_callback")

    def set_callback(callback: Any) -> Any:
        return original(False if callback is not None else None)

    setattr(holder, name, set_callback)
    try:
        yield
    finally:
        if getattr(holder, name) is set_callback:
            setattr(holder, name, original)
