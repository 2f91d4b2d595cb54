"""Texts of objects that are the same in every run."""

from __future__ import annotations

import re
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any, Dict, Iterable, List, Tuple, cast

DEEPEST = 50  # levels of containers that are shown
LONGEST_CONTAINER = 2000  # characters
_BRACKETS: Dict[type, Tuple[str, str]] = {tuple: ("(", ")"), list: ("[", "]"), frozenset: ("frozenset({", "})")}
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def stable_repr(value: object, limit: int = 200) -> str:
    """Return `repr(value)` without addresses, on one line, shortened; never raises."""
    if isinstance(value, CodeType):
        return f"<code {value.co_name}>"
    if isinstance(value, ModuleType):
        return f"<module {value.__name__}>"
    text = _container(value, DEEPEST) if type(value) in _BRACKETS else _repr(value)
    text = _ADDRESS.sub("0x...", " ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__qualname__}>"


def _container(value: object, levels: int) -> str:
    """Return the repr of a tuple, list or frozenset, as much as is needed of one that is large or deep.

    References to the same tuple again and again can make a repr that never ends.
    """
    before, after = _BRACKETS[type(value)]
    if not levels:
        return f"{before}...{after}"
    parts: List[str] = []
    length = 0
    for item in _in_order(value):
        parts.append(_container(item, levels - 1) if type(item) in _BRACKETS else _repr(item))
        length += len(parts[-1])
        if length > LONGEST_CONTAINER:
            return f"{before}{', '.join(parts)}, ..."
    if not parts and type(value) is frozenset:
        return "frozenset()"
    return f"{before}{', '.join(parts)}{',' if len(parts) == 1 and type(value) is tuple else ''}{after}"


def _in_order(value: Any) -> Iterable[object]:
    """Return the elements of a container; those of a set by their texts, as its own order differs from run to run."""
    if type(value) is not frozenset or len(value) > LONGEST_CONTAINER or any(type(item) in _BRACKETS for item in value):
        return cast("Iterable[object]", value)
    return sorted(value, key=_repr)


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
        text = stable_repr(value)
        return f"torch.{text}" if text.startswith("device(") else text
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str) and callable(value):
        return f"the {'built-in' if kind is BuiltinFunctionType else kind.__name__} {name}"
    size = f" of {len(value)}" if kind in (list, tuple, dict, set, frozenset) else ""  # type: ignore[arg-type]
    return f"a {kind.__qualname__}{size}"
