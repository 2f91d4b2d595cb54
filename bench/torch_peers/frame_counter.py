"""Count the frames that Dynamo compiles, and those that run code from a folder instead of Dynamo's own.

Imported by the interpreters of both depyfs, so it imports nothing of this project but the depyf that is there.
"""

from __future__ import annotations

import os
from typing import Any, Dict


class FrameCounter:
    """Count frames from `open` to `close`, under `prepare_debug` of the interpreter's depyf if one is wanted."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self.frames = 0
        self.replaced = 0
        self._handle: Any = None
        self._context: Any = None

    def open(self, with_depyf: bool) -> None:
        """Enter the context and see what Dynamo ends up with.

        Torch calls hooks in the order in which they were registered, but our depyf puts its own behind those of modules
        other than the one that opened it: so it is opened here.
        """
        from torch._dynamo.convert_frame import register_bytecode_hook

        if with_depyf:
            import depyf

            self._context = depyf.prepare_debug(self.folder)
            self._context.__enter__()
        self._handle = register_bytecode_hook(self._on_frame)

    def close(self) -> None:
        """Count no more, and leave the context."""
        self._handle.remove()
        if self._context is not None:
            self._context.__exit__(None, None, None)

    def counts(self) -> Dict[str, int]:
        """Return both numbers."""
        return {"frames": self.frames, "replaced": self.replaced}

    def _on_frame(self, code: Any, new_code: Any) -> None:
        self.frames += 1
        self.replaced += os.path.realpath(new_code.co_filename).startswith(self.folder + os.sep)
