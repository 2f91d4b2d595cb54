"""Names that programs written for depyf 0.20 import from here."""

from __future__ import annotations

from typing import Any

from depyf.errors import NotThereYetError


def dump_src(fn: Any) -> str:
    """The whole story of a function that is compiled already, as text.  Not there yet: NotThereYetError."""
    raise NotThereYetError(
        "depyf.explain.dump_src is not there yet: run the function inside depyf.prepare_debug(folder) and "
        "read full_code_for_<function>_<n>.py in that folder"
    )
