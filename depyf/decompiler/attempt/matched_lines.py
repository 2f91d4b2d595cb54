"""Matched lines: the lines of the text that the instructions of the original code belong to."""

from __future__ import annotations

from types import CodeType
from typing import Dict, Tuple

from depyf.decompiler.prove import Verdict


def matched_lines(recompiled: CodeType, verdict: Verdict) -> Tuple[Tuple[int, int], ...]:
    """Return (offset in the original, line of the text) for the operations that the proof matched, sorted."""
    line_at: Dict[int, int] = {}
    for start, end, line in recompiled.co_lines():
        if line is not None:
            for offset in range(start, end, 2):
                line_at[offset] = line
    found = {a: line_at[b] for a, b in verdict.pairs if b in line_at}
    return tuple(sorted(found.items()))
