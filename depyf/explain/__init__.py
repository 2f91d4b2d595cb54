"""Names that programs written for depyf 0.20 import from here."""

from __future__ import annotations

import importlib
from typing import Any

# submodules that `import depyf` alone makes reachable, as it always did
_SUBMODULES = ("enable_debugging", "enhance_logging", "global_variables", "utils")


def __getattr__(name: str) -> object:
    """Import a submodule on first use (PEP 562)."""
    if name in _SUBMODULES:
        return importlib.import_module("depyf.explain." + name)
    raise AttributeError("module 'depyf.explain' has no attribute " + repr(name))


def dump_src(fn: Any, module: Any = None) -> str:
    """Return the whole story of what is compiled already, as the text of one Python module; `module` is ignored.

    The same text as in `full_code_for_*.py` of a `prepare_debug` folder.  `depyf.inspect(fn)` gives the graphs, too.
    """
    from depyf.torch_hooks.entry_points.inspection import inspect

    return inspect(fn).story()
