"""depyf: read, trust and step through what torch.compile made of your code.

    with depyf.prepare_debug("./dump"):     # every compiled frame, graph and kernel, as readable files
        program()
    with depyf.debug():                     # pause; breakpoints in those files are hit
        program()
    print(depyf.inspect(compiled))          # the same of what is compiled already, without files
    print(depyf.decompile(function))        # works without torch, too

The public names are bound on first use: ``import depyf`` is cheap and never imports torch. Where the program has
imported torch already, the modules of ``prepare_debug`` are loaded at once: later they would add a fifth of a second to
the first compilation.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from depyf.version import __version__

if TYPE_CHECKING:
    from depyf.decompiler import Decompiler, decompile
    from depyf.torch_hooks.entry_points.bytecode_log import install, uninstall
    from depyf.torch_hooks.entry_points.debug import debug
    from depyf.torch_hooks.entry_points.inspection import inspect
    from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug
    from depyf.torch_hooks.numerics.eager_comparison import compare
    from depyf.torch_hooks.numerics.numeric_report import NumericError

__all__ = [
    "Decompiler",
    "NumericError",
    "__version__",
    "compare",
    "debug",
    "decompile",
    "inspect",
    "install",
    "prepare_debug",
    "uninstall",
]

# public name -> the module that defines it
_HOMES = {
    "decompile": "depyf.decompiler",
    "Decompiler": "depyf.decompiler",
    "prepare_debug": "depyf.torch_hooks.entry_points.prepare_debug",
    "debug": "depyf.torch_hooks.entry_points.debug",
    "inspect": "depyf.torch_hooks.entry_points.inspection",
    "compare": "depyf.torch_hooks.numerics.eager_comparison",
    "NumericError": "depyf.torch_hooks.numerics.numeric_report",
    "install": "depyf.torch_hooks.entry_points.bytecode_log",
    "uninstall": "depyf.torch_hooks.entry_points.bytecode_log",
    "load_ipython_extension": "depyf.torch_hooks.entry_points.notebook",
}

# submodules that `import depyf` alone makes reachable, as it always did
_SUBMODULES = ("code_transform", "decompiler", "explain", "optimization", "utils")


def __getattr__(name: str) -> object:
    """Bind a public name on first use (PEP 562)."""
    if name in _HOMES:
        value: object = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module("depyf." + name)
    else:
        raise AttributeError("module 'depyf' has no attribute " + repr(name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | set(_SUBMODULES))


if sys.modules.get("torch") is not None:
    importlib.import_module(_HOMES["prepare_debug"])
