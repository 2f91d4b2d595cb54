"""Which piece of a graph a stage belongs to: some backends split a graph and compile each piece on its own.

DDPOptimizer does (one piece for each bucket of gradients), and backends that keep some operations to themselves.
All pieces come under one compile id, one after the other; only the backwards come later, in an order of their own.
"""

from __future__ import annotations

from typing import Dict, Set

from depyf.record.vocabulary import MADE_FOR_BACKWARD
from depyf.torch_hooks.graphs.stages import PRE_GRAD_EVENT, STAGES

_OF_PIECE = frozenset(stage.event for stage in STAGES if stage.of_piece)
_OPENS_PIECE = frozenset(stage.event for stage in STAGES if stage.opens_piece)


class Pieces:
    """Follows the events of one graph."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: Set[str] = set()  # kinds of event that the newest piece has had
        self._by_aot_number: Dict[str, int] = {}

    def begins_with(self, kind: str) -> bool:
        """Return whether an event of that kind would be the first of a piece."""
        if not self.count:
            return kind in _OF_PIECE
        is_under_way = bool(self._seen & _OPENS_PIECE)
        if kind == PRE_GRAD_EVENT:
            return is_under_way or PRE_GRAD_EVENT in self._seen
        return is_under_way and kind in _OPENS_PIECE

    def of_stage(self, kind: str) -> int | None:
        """Return the piece that an event is about, and count it; None for an event about the whole graph."""
        if kind not in _OF_PIECE:
            return None
        if self.begins_with(kind):
            self.count += 1
            self._seen.clear()
        self._seen.add(kind)
        return self.count - 1

    def of_kernel(self, aot_number: str, made_for: str) -> int:
        """Return the piece that a module of kernels implements, by the number that AOTAutograd gave to the piece.

        Forwards are compiled one after the other; a backward is compiled with its forward, or when it first runs.
        """
        newest = max(self.count - 1, 0)
        if made_for == MADE_FOR_BACKWARD:
            return self._by_aot_number.get(aot_number, newest)
        self._by_aot_number[aot_number] = newest
        return newest
