"""Matched lines: which line of the text each instruction of the original code belongs to.

The proof pairs the operations that a program can observe: an offset in the original code with one in the recompiled
code, whose line table has the line of the text. So these lines are as right as the proof, whatever the stages did to
the program; no stage has to carry positions along. Statements that do nothing observable (`x = y`) are in no pair: for
them the builder records the instruction that it writes each for, and `silent_lines` reads that.
"""

from __future__ import annotations

import re
from types import CodeType
from typing import List, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.location_table import lines_of
from depyf.decompiler.prove import Verdict

Lines = Tuple[Tuple[int, int], ...]


def matched_lines(recompiled: CodeType, verdict: Verdict) -> Lines:
    """Return (offset in the original, line of the text) for the operations that the proof matched, sorted."""
    line_at = _line_of_each_unit(recompiled)
    pairs = verdict.pairs
    if len(pairs) == len(line_at) and all(a == b for a, b in pairs):  # the very same code
        return tuple([(2 * unit, line) for unit, line in enumerate(line_at) if line is not None])
    matched = [(a, line_at[b // 2]) for a, b in pairs]
    return tuple(sorted({(a, line) for a, line in matched if line is not None}))


def _line_of_each_unit(code: CodeType) -> List[Optional[int]]:
    """Return the line of each two bytes of a code object's instructions."""
    found: List[Optional[int]] = []
    for start, end, line in lines_of(code):
        if start > 2 * len(found):
            found += [None] * (start // 2 - len(found))
        found += [line] * ((end - start) // 2)
    units = len(code.co_code) // 2
    return found[:units] + [None] * (units - len(found))


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
