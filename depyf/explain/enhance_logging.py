"""`install` and `uninstall`, where programs written for depyf 0.20 import them from."""

from __future__ import annotations

from depyf.torch_hooks.entry_points.bytecode_log import install, uninstall

__all__ = ["install", "uninstall"]
