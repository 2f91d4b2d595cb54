"""Notebooks: `%load_ext depyf`, then `%%depyf [FOLDER]` at the top of a cell shows what torch.compile makes of it.

    %%depyf
    model(x)

The cell runs as it is, and the page of the run is its output. Cells are named by their numbers.
"""

from __future__ import annotations

from typing import Any

from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug

_FOLDER = "depyf_output"


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic `%%depyf` to an IPython shell; IPython calls it for `%load_ext depyf`."""

    def depyf(line: str, cell: str) -> prepare_debug:
        """Run the cell under depyf.prepare_debug, and show the page: %%depyf [FOLDER] (depyf_output)."""
        context = prepare_debug(line.strip() or _FOLDER)
        with context:
            shell.run_cell(cell, store_history=False)
        return context

    shell.register_magic_function(depyf, magic_kind="cell", magic_name="depyf")
