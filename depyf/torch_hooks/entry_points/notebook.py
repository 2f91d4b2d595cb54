"""Notebooks: `%load_ext depyf`, then `%%depyf [FOLDER]` at the top of a cell shows what torch.compile makes of it.

    %%depyf
    model(x)

The cell runs as it is, and the page of the run is its output. Cells are named by their numbers.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from depyf.errors import UserError
from depyf.torch_hooks.entry_points.prepare_debug import prepare_debug

_FOLDER = "depyf_output"


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic `%%depyf` to an IPython shell; IPython calls it for `%load_ext depyf`."""

    def depyf(line: str, cell: str) -> prepare_debug:
        """Run the cell under depyf.prepare_debug, and show the page: %%depyf [FOLDER] (depyf_output)."""
        if line.strip().startswith("-"):
            raise UserError(f"%%depyf has no options: give a folder, or nothing for {_FOLDER}")
        context = prepare_debug(line.strip() or _FOLDER)
        with context, _numbered_as_now(shell):
            shell.run_cell(cell, store_history=False)
        return context

    shell.register_magic_function(depyf, magic_kind="cell", magic_name="depyf")


@contextmanager
def _numbered_as_now(shell: Any) -> Iterator[None]:
    """Have IPython number what runs inside a cell as that cell: since 9 it counts on before a cell runs."""
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if not isinstance(numbers, dict) or not numbers:
        yield
        return
    counted = shell.execution_count
    shell.execution_count = max(numbers.values())
    try:
        yield
    finally:
        shell.execution_count = counted
