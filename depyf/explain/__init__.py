"""Names that programs written for depyf 0.20 import from here."""

from __future__ import annotations

from typing import Any


def dump_src(fn: Any, module: Any = None) -> str:
    """Return the whole story of what is compiled already, as the text of one Python module; `module` is ignored.

    The same text as in `full_code_for_*.py` of a `prepare_debug` folder.  `depyf.inspect(fn)` gives the graphs, too.
    """
    from depyf.torch_hooks.entry_points.inspection import inspect

    return inspect(fn).story()
