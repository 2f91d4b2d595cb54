"""Helpers that programs written for depyf 0.20 import from here."""

from __future__ import annotations

import itertools
from pathlib import Path

from depyf.errors import UserError


def get_current_compiled_fn_name() -> str:
    """Return the name of the graph that a backend compiles now: `__compiled_fn_3`.

    Called outside a backend, it has the newest number that Dynamo gave to a name, of a graph or not.  UserError
    without torch.
    """
    from depyf.torch_hooks.internals import private_hooks

    newest = private_hooks.newest_number()
    if newest is None:
        raise UserError("get_current_compiled_fn_name() needs torch, and one whose names are numbered")
    return f"__compiled_fn_{newest}"


def write_code_to_file_template(src: str, path_template: str) -> str:
    """Write `src` to the first free file of `path_template % 0`, `path_template % 1` and so on.

    A file that already holds the same text is used.  Returns the path.  The template has one `%s` or `%d`.
    """
    for number in itertools.count():
        path = Path(path_template % number)
        if not path.exists():
            path.write_text(src, encoding="utf-8")
            return str(path)
        if path.read_text(encoding="utf-8") == src:
            return str(path)
    raise AssertionError("unreachable")
