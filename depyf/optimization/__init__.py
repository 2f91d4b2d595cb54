"""Names that programs written for depyf 0.20 import from here."""

from __future__ import annotations

from typing import Any

from depyf.errors import NotThereYetError


class TorchCompileWrapperWithCustomDispatcher:
    """A compiled callable whose caller picks the version.  Not there yet: NotThereYetError when made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotThereYetError(
            "depyf.optimization.TorchCompileWrapperWithCustomDispatcher is not there yet; nothing was wrapped"
        )
