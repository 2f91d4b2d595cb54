"""Short statements: assignments and deletions of names, attributes and items, which most of generated code consists of.

They need neither parentheses nor marks where a line may break, so their text is made at once.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.printer.printable_characters import as_repr_of
from depyf.decompiler.printer.syntax_limits import SyntaxLimits


class ShortStatements:
    """The texts of short statements, for one Python."""

    def __init__(self, limits: SyntaxLimits) -> None:
        self._limits = limits
        self._keys: Dict[str, str] = {}  # constant -> its text in brackets

    def text_of(self, node: Any) -> str | None:
        """Return the text of a statement on one line, None for any but these."""
        if node.__class__ is s.Assign:
            texts = self._chains(node.targets)
            value = None if texts is None else self._chain(node.value)
            return None if texts is None or value is None else " = ".join([*texts, value])
        if node.__class__ is s.Delete:
            texts = self._chains(node.targets)
            return None if texts is None else "del " + ", ".join(texts)
        return None

    def _chains(self, nodes: Sequence[Any]) -> List[str] | None:
        """Return the texts of expressions, None if one is of another kind."""
        texts = []
        for node in nodes:
            text = node.id if node.__class__ is s.Name else self._chain(node)
            if text is None:
                return None
            texts.append(text)
        return texts

    def _chain(self, node: Any) -> str | None:
        """Return the text of a name, or of its attributes and of items with constant strings as their keys."""
        pieces: List[str] = []
        while node.__class__ is not s.Name:
            if node.__class__ is s.Attribute:
                pieces.append("." + node.attr)
            elif node.__class__ is s.Subscript and node.slice.__class__ is s.Constant:
                key = node.slice.value
                if key.__class__ is not str:
                    return None
                text = self._keys.get(key)
                if text is None:
                    text = self._keys[key] = f"[{as_repr_of(repr(key), self._limits.characters_of)}]"
                pieces.append(text)
            else:
                return None
            node = node.value
        pieces.append(node.id)
        pieces.reverse()
        return "".join(pieces)
