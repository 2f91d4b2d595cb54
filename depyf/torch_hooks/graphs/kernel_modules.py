"""The modules of kernels that Inductor generates: their text, and the graph of AOTAutograd's that each implements."""

from __future__ import annotations

import re
from typing import Tuple

# Inductor writes into each module which graph of AOTAutograd's it was made for.
_AOT_ID = re.compile(r"^# AOT ID: \['(?P<number>\w+)_(?P<made_for>forward|backward|inference)'\]", re.MULTILINE)


def aot_id(text: str) -> Tuple[str, str]:
    """Return AOTAutograd's number of the graph, and "forward", "backward" or "inference"; two empty texts if none."""
    found = _AOT_ID.search(text) if "# AOT ID: [" in text else None  # most files are torch's own, and long
    return ("", "") if found is None else (found["number"], found["made_for"])


def read_module(path: str) -> str:
    """Return the text of the file; empty when it cannot be read."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, ValueError):
        return ""


def read_kernels(path: str) -> str:
    """Return the text of a module that Inductor generated; empty for any other file."""
    text = read_module(path)
    return text if aot_id(text)[0] else ""
