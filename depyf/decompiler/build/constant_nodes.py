"""Constants as expressions; what no source can spell becomes a placeholder that is patched back afterwards."""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, FunctionType
from typing import Any, Dict, Mapping, Optional

from depyf.decompiler import syntax as s
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.syntax.literals import Unspellable, spell

_NAMED = (FunctionType, BuiltinFunctionType)
_SPELLABLE = (int, str, bytes, bool, type(None), type(...))


class Placeholders:
    """Gives one name to each object that no source can spell."""

    def __init__(self) -> None:
        self.values: Dict[str, Any] = {}  # name -> the object that it stands for
        self._known: Dict[int, s.Placeholder] = {}

    def node(self, value: Any) -> s.Placeholder:
        """Return the placeholder of `value`, by identity."""
        known = self._known.get(id(value))
        if known is None:
            is_builtin = isinstance(value, BuiltinFunctionType) and getattr(builtins, value.__name__, None) is value
            name = f"__builtin_{value.__name__}" if is_builtin else f"__constant_{len(self.values)}"
            known = s.Placeholder(name, value)
            self.values[name] = value
            self._known[id(value)] = known
        return known


def spellable(value: Any) -> bool:
    """Return whether source text can spell exactly this constant."""
    kind = type(value)
    if kind in _SPELLABLE or kind in CODE_TYPES:
        return True
    if kind is float or kind is complex:
        return _has_text(value)
    if kind in (tuple, frozenset):
        return all(spellable(item) for item in value)
    return False


def _has_text(value: Any) -> bool:
    try:
        spell(value)
    except Unspellable:
        return False
    return True


def constant_node(value: Any, placeholders: Placeholders) -> s.Expression:
    """Return the expression for a constant."""
    if type(value) is frozenset or spellable(value):
        return s.Constant(value)
    return _index(value) or placeholders.node(value)


def _index(value: Any) -> Optional[s.Expression]:
    """Return a slice as an index spells it, or a tuple that has one (constants from 3.14 on); None for others."""
    if type(value) is slice and all(spellable(bound) for bound in (value.start, value.stop, value.step)):
        bounds = (value.start, value.stop, value.step)
        return s.Slice(*[None if bound is None else s.Constant(bound) for bound in bounds])
    if type(value) is tuple and any(type(item) is slice for item in value):
        nodes = [s.Constant(item) if spellable(item) else _index(item) for item in value]
        return s.Tuple([node for node in nodes if node is not None]) if None not in nodes else None
    return None


def value_node(value: Any, known: Mapping[str, Any], placeholders: Placeholders) -> s.Expression:
    """Return the expression for the current value of a default or an annotation.

    A plain list, dict or set is written out; a global of the function (`known`) or a builtin is written by its name.
    """
    node = _display(value)
    if node is not None:
        return node
    wanted = value.__name__ if type(value) in _NAMED or isinstance(value, type) else ""
    if wanted and known.get(wanted, getattr(builtins, wanted, None)) is value:
        return s.Name(wanted)
    names = [name for name, held in known.items() if held is value and name.isidentifier()]
    return s.Name(min(names, key=lambda name: name != wanted)) if names else placeholders.node(value)


def _display(value: Any, depth: int = 20) -> Optional[s.Expression]:
    """Return the display of a plain container of elements that can be spelled, or the constant itself; else None."""
    kind = type(value)
    if kind is not frozenset and kind not in CODE_TYPES and spellable(value):
        return s.Constant(value)
    if kind not in (list, dict, set, tuple) or not depth:
        return None
    nodes = [_display(item, depth - 1) for item in (value.values() if kind is dict else value)]
    keys = [_display(key, depth - 1) for key in value] if kind is dict else []
    if any(node is None for node in (*nodes, *keys)):
        return None
    items = [node for node in nodes if node is not None]
    if kind is dict:
        return s.Dict(keys, items)
    if kind is set:
        return s.Set(items or [s.Starred(s.Tuple([]))])
    return s.List(items) if kind is list else s.Tuple(items)
