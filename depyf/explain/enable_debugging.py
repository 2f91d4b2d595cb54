"""Where depyf 0.20 kept these."""

from __future__ import annotations

from typing import Any

from depyf.torch_hooks.entry_points.debug import debug
from depyf.torch_hooks.session.prepare_debug import prepare_debug

__all__ = ["debug", "patched_load_by_key_path", "prepare_debug"]


def patched_load_by_key_path(*args: Any, **kwargs: Any) -> Any:
    """Load a module of Inductor's: torch's own function, whatever arguments it takes.

    Some programs look at this function's signature to see whether they must put depyf right.  They need not: depyf
    reads kernels from the structured trace and replaces no function of torch's.
    """
    from depyf.torch_hooks.internals import torch_facts

    return torch_facts.find("load_by_key_path")(*args, **kwargs)
