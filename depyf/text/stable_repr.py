"""Texts of objects that are the same in every run."""

from __future__ import annotations

import re
from types import BuiltinFunctionType, CodeType, ModuleType

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def stable_repr(value: object, limit: int = 200) -> str:
    """Return `repr(value)` without addresses, on one line, shortened; never raises."""
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


def describe(value: object) -> str:
    """Describe a constant for a comment; an object's own code is run only where it is known to be harmless."""
    kind = type(value)
    if isinstance(value, CodeType):  # 3.10 has no qualified names
        name = getattr(value, "co_qualname", value.co_name)
        return f"the code of {name}, whose text is at {value.co_filename}:{value.co_firstlineno}"
    if isinstance(value, dict) and kind is dict and "__builtins__" in value and type(value.get("__name__")) is str:
        return f"the dictionary of the global variables of {value['__name__']}"
    if isinstance(value, (ModuleType, type)) or kind in (int, float, complex, str, bytes, bool, range, slice):
        return stable_repr(value)
    if (kind.__module__, kind.__name__) in (("torch", "device"), ("torch", "dtype"), ("torch", "Size")):
        return stable_repr(value)
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str) and callable(value):
        return f"the {'built-in' if kind is BuiltinFunctionType else kind.__name__} {name}"
    size = f" of {len(value)}" if kind in (list, tuple, dict, set, frozenset) else ""  # type: ignore[arg-type]
    return f"a {kind.__qualname__}{size}"
