"""Helpers that programs written for depyf 0.20 reach for."""

from __future__ import annotations

import itertools
from pathlib import Path

from depyf.errors import NotThereYetError


def get_current_compiled_fn_name() -> str:
    """The name of the graph that is being compiled now.  Not there yet: NotThereYetError."""
    raise NotThereYetError(
        "depyf.explain.utils.get_current_compiled_fn_name is not there yet: torch's compile id "
        "(torch._guards.CompileContext.current_compile_id()) names what is being compiled"
    )


def write_code_to_file_template(src: str, path_template: str) -> str:
    """Write `src` to the first free file of `path_template % 0`, `path_template % 1` and so on.

    A file that holds the same text already will do.  Returns the path.  The template has one `%s` or `%d`.
    """
    for number in itertools.count():
        path = Path(path_template % number)
        if not path.exists():
            path.write_text(src, encoding="utf-8")
            return str(path)
        if path.read_text(encoding="utf-8") == src:
            return str(path)
    raise AssertionError("unreachable")
