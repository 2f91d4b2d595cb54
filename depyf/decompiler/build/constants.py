"""Constants as expressions; what no source can spell becomes a placeholder that is patched back afterwards."""

from __future__ import annotations

import math
from types import CodeType
from typing import Any, Dict, List

from .. import syntax as s
from ..printer import Unspellable
from ..printer.literals import spell

_SPELLABLE = (int, str, bytes, bool, type(None), type(...))


class Placeholders:
    """Hands out one name for each object that no source can spell."""

    def __init__(self) -> None:
        self.values: List[Any] = []
        self._known: Dict[int, s.Placeholder] = {}

    def node(self, value: Any) -> s.Placeholder:
        """The placeholder of `value`, by identity."""
        known = self._known.get(id(value))
        if known is None:
            known = s.Placeholder(f"__constant_{len(self.values)}", value)
            self.values.append(value)
            self._known[id(value)] = known
        return known


def spellable(value: Any) -> bool:
    """Whether source text can say exactly this constant."""
    kind = type(value)
    if kind in _SPELLABLE or kind is CodeType:
        return True
    if kind is float:
        return not math.isnan(value)
    if kind is complex:
        return _has_text(value)
    if kind in (tuple, frozenset):
        return all(spellable(item) for item in value)
    return False


def _has_text(value: complex) -> bool:
    try:
        spell(value)
    except Unspellable:
        return False
    return True


def constant_node(value: Any, placeholders: Placeholders) -> s.Expression:
    """The expression for a constant."""
    if type(value) is frozenset or spellable(value):
        return s.Constant(value)
    return placeholders.node(value)
