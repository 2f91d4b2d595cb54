"""The phases of a compilation as torch's own timers see them: nested spans, from `chromium_event`s of its trace.

Each timer raises an event when it begins ("B") and one when it ends ("E"), with the time in microseconds. A span is
`[name, start, microseconds, depth]`; spans of one compilation come in the order in which they began.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

PHASE_EVENT = "chromium_event"
Span = List[Any]
_MOST_SPANS = 20_000  # of a whole run
_LONGEST_NAME = 200


class CompilePhases:
    """Pairs the beginnings and ends of torch's timers."""

    def __init__(self) -> None:
        self._spans: Dict[str, List[Span]] = {}
        self._open: Dict[str, List[Tuple[str, float, Span]]] = {}  # by compilation
        self._number = 0

    def add(self, compile_id: str, payload: str) -> None:
        """Add an event that came under a compile id; what is no event of a timer is left out."""
        try:
            found = json.loads(payload)
        except (ValueError, RecursionError):
            return
        if not isinstance(found, dict) or type(found.get("ts")) not in (int, float):
            return
        name, time, kind = str(found.get("name", ""))[:_LONGEST_NAME], float(found["ts"]), found.get("ph")
        stack = self._open.setdefault(compile_id, [])
        if kind == "B" and self._number < _MOST_SPANS:
            span: Span = [name, round(time), 0, len(stack)]
            stack.append((name, time, span))
            self._spans.setdefault(compile_id, []).append(span)
            self._number += 1
        elif kind == "E" and any(name == opened for opened, _, _ in stack):
            while stack:
                opened, begun, span = stack.pop()
                span[2] = max(0, round(time - begun))
                if opened == name:
                    break

    def of(self, compile_id: str) -> List[Span]:
        """Return the spans of a compilation."""
        return self._spans.get(compile_id, [])

    @property
    def compile_ids(self) -> Tuple[str, ...]:
        """The compilations that have spans."""
        return tuple(self._spans)
