"""Names that programs written for depyf 0.20 import from here."""

from __future__ import annotations

from depyf.torch_hooks.entry_points.guardless_calls import TorchCompileWrapperWithCustomDispatcher

__all__ = ["TorchCompileWrapperWithCustomDispatcher"]
