"""Read the stacks that torch keeps as text: the lines of the user's program that a node of a graph stems from.

    File "model.py", line 16, in forward
      w = scaled(z)
          ^^^^^^^^^
    File "helpers.py", line 4, in scaled
      return torch.cosh(t)

Torch leaves out the frames of `torch/nn/modules`, so the last one is a line of the user's, of a library, or of one of
torch's own functions in Python.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import re
from typing import Tuple

from depyf.record.records import Location

_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?P<code>(?! *File ").*)?', re.M)


@functools.lru_cache(maxsize=2048)
def read_stack(text: str) -> Tuple[Location, ...]:
    """Return the lines of a stack, outermost first."""
    return tuple(
        [
            _location(found["file"], int(found["line"]), found["function"], (found["code"] or "").strip())
            for found in _FRAME.finditer(text if text.endswith("\n") else text + "\n")
        ]
    )


_location = functools.lru_cache(maxsize=2048)(Location)  # many stacks share their outer lines


def digest_of(file: str) -> str:
    """Return a digest of the text that tracebacks show of a file; empty where there is none."""
    lines = linecache.getlines(file)
    return hashlib.sha256("".join(lines).encode("utf-8", "replace")).hexdigest()[:16] if lines else ""
