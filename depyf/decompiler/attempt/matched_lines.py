"""Matched lines: which line of the text each instruction of the original code belongs to.

The proof pairs the operations that a program can observe: an offset in the original code with one in the recompiled
code, whose line table has the line of the text. So these lines are as right as the proof, whatever the stages did to
the program; no stage has to carry positions along. Statements that do nothing observable (`x = y`) are in no pair: for
them the builder records the instruction that it writes each for, and `silent_lines` reads that.
"""

from __future__ import annotations

import operator
import re
import sys
from types import CodeType
from typing import Sequence, Tuple

from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.prove import Verdict

_AFTER_THE_LAST = (sys.maxsize, sys.maxsize, None)
_RECOMPILED = operator.itemgetter(1)
Lines = Tuple[Tuple[int, int], ...]


def matched_lines(recompiled: CodeType, verdict: Verdict) -> Lines:
    """Return (offset in the original, line of the text) for the operations that the proof matched, sorted."""
    entries = lines_of(recompiled)
    pairs = verdict.pairs
    if 2 * len(pairs) == len(recompiled.co_code) and all(a == b for a, b in pairs):  # the very same code
        return tuple([(at, line) for start, end, line in entries if line is not None for at in range(start, end, 2)])
    found = set()
    remaining = iter(entries)
    start, end, line = 0, 0, None
    for a, b in sorted(pairs, key=_RECOMPILED):
        while end <= b:
            start, end, line = next(remaining, _AFTER_THE_LAST)
        if line is not None and start <= b:
            found.add((a, line))
    return tuple(sorted(found))


def silent_lines(source: str, recompiled: CodeType, matched: Lines, origins: Sequence[int]) -> Lines:
    """Return (offset in the original, line of the text) for the other statements of the code itself, by line.

    The arguments are what `Decompilation` holds. Statements inside nested functions are left out, as those have code of
    their own; and so are those for which the builder records an instruction of the statement before or below them, like
    `break` and `try`.
    """
    own = {line for _, _, line in lines_of(recompiled) if line is not None} - {line for _, line in matched}
    text = source.split("\n")
    found = [(origins[line - 1], line) for line in sorted(own) if 0 < line <= len(origins)]
    return tuple([(offset, line) for offset, line in found if offset >= 0 and _is_written_for(text[line - 1])])


_HAS_NO_OWN = re.compile(
    r"\s*(?:@|(?:def|class|async|for|while|try|except|else|finally|with|match|case|break|continue)\b)"
)


def _is_written_for(line: str) -> bool:
    """Return whether a statement that begins so was written for the instruction that is recorded for it."""
    return _HAS_NO_OWN.match(line) is None
