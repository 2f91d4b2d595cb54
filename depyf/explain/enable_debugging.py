"""Where depyf 0.20 kept these two."""

from __future__ import annotations

from depyf.torch_hooks.debugging import debug
from depyf.torch_hooks.session import prepare_debug

__all__ = ["debug", "prepare_debug"]
