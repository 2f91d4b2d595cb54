"""Names for values that need one: telling, and never one that the code uses already."""

from __future__ import annotations

import builtins
import keyword
import re
from types import CodeType
from typing import Dict, Iterable, Set

from depyf.decompiler import syntax as s

_BUILTINS = frozenset(dir(builtins))  # `set = a.set_` would puzzle a reader, and functions inside that use `set`

_NO_WORD = re.compile(r"\W")


class Names:
    """Hands out names for one function."""

    def __init__(self, code: CodeType, also_taken: Iterable[str] = ()) -> None:
        self.taken: Set[str] = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names, *also_taken}
        self.invented: Set[str] = set()
        self._next: Dict[str, int] = {}

    def fresh(self, node: s.Expression) -> str:
        """A new name for the value of `node`."""
        return self.like(suggestion(node))

    def like(self, base: str) -> str:
        """A new name, as near to `base` as can be."""
        if not base.isidentifier():  # pytest's `@py_assert1`, a comprehension's `.0`
            base = _clean(base)
        name, number = base, self._next.get(base, 1)
        while name in self.taken or name in _BUILTINS or keyword.iskeyword(name) or not name.isidentifier():
            name = f"{base}_{number}"
            number += 1
        self._next[base] = number
        self.taken.add(name)
        self.invented.add(name)
        return name


def suggestion(node: s.Expression) -> str:
    """What a reader might call the value of `node`."""
    key = node.slice.value if isinstance(node, s.Subscript) and isinstance(node.slice, s.Constant) else None
    if isinstance(key, str) and key.isidentifier():
        return _clean(key)
    if isinstance(node, s.Subscript) and isinstance(key, (int, str)):
        inner = suggestion(node.value)
        return _clean(f"{inner}_{key}".replace("-", "last_"))
    if isinstance(node, s.Attribute):
        return _clean(node.attr)
    if isinstance(node, s.Name):
        return _clean(node.id)
    if isinstance(node, s.Call):
        inner = suggestion(node.func)
        return inner if inner == "value" or inner.endswith("_result") else f"{inner}_result"
    if isinstance(node, (s.List, s.ListComp)):
        return "items"
    return "value"


def _clean(text: str) -> str:
    text = _NO_WORD.sub("_", text).strip("_") or "value"
    return text if not text[0].isdigit() else f"value_{text}"
