"""Texts of objects that are the same in every run."""

from __future__ import annotations

import re
from types import CodeType, ModuleType

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def stable_repr(value: object, limit: int = 200) -> str:
    """`repr(value)` without addresses, on one line, shortened; never raises."""
    if isinstance(value, CodeType):
        return f"<code {value.co_name}>"
    if isinstance(value, ModuleType):
        return f"<module {value.__name__}>"
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__qualname__}>"
    text = _ADDRESS.sub("0x...", " ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 3] + "..."
