"""`debug` and `prepare_debug`, where programs written for depyf 0.20 import them from."""

from __future__ import annotations

from typing import Any

from depyf.torch_hooks.entry_points.debug import debug
from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug

__all__ = ["debug", "patched_load_by_key_path", "prepare_debug"]


def patched_load_by_key_path(*args: Any, **kwargs: Any) -> Any:
    """Load a module of Inductor's: torch's own function, with whatever arguments it takes.

    Some programs inspect this function's signature to see whether they must patch depyf.  They need not: depyf reads
    kernels from the structured trace and replaces no function of torch's.
    """
    from depyf.torch_hooks.internals import private_hooks

    return private_hooks.find("load_by_key_path")(*args, **kwargs)
