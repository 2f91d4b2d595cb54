"""What became of one code object: the record that the decompiler returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Optional, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.prove import Verdict


@dataclass(frozen=True)
class Decompilation:
    """The text of one code object and how far it may be trusted."""

    source: str  # valid Python; for a proved one, the text that was compiled
    code: Optional[CodeType]  # recompiled from `source`, like the reference; None unless proved
    verdict: Verdict
    rung: str  # "idioms", "statements", "state machine", "listings inside", "disassembly"
    lines: Tuple[Tuple[int, int], ...]  # (offset in the input code, line in source), sorted
    bugs: Tuple[str, ...] = ()  # unexpected exceptions inside the stages: worth a report
    stand_ins: Tuple[str, ...] = ()  # what the names are that stand in the text for constants without a spelling
    origins: Tuple[int, ...] = ()  # line in source -> offset that the statement beginning there was written for, or -1
    tree: Optional[s.Module] = field(default=None, repr=False, compare=False)  # what `source` was printed from

    @property
    def proved(self) -> bool:
        """Whether the text may stand in for the code."""
        return self.verdict.holds

    @property
    def shows_instructions(self) -> bool:
        """Whether all of the text, or a function inside, is a listing of instructions and no source."""
        return self.rung in ("listings inside", "disassembly")
