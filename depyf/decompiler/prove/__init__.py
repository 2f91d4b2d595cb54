"""Prove: are two code objects the same program?

`prove(original, recompiled)` runs two symbolic machines side by side and compares effects and their order, results,
exceptions, the user's variables, and when each value loses the frame's last reference. PROVED means that no program
can distinguish the two by any of these. Everything else that could differ is an assumption of the verdict, or not
compared at all: the code object itself, line numbers, time and memory. UNPROVED and REFUTED may be wrong about codes
that are the same.

What is compared and what is not, how the proof works, which module holds which part, the grades and the closed list
of assumptions stand in docs/proof.md.
"""

from __future__ import annotations

from depyf.decompiler.prove.proof_attempts import prove
from depyf.decompiler.prove.symbolic_machine import TOO_MUCH_WORK
from depyf.decompiler.prove.verdict import Assumption, Divergence, Grade, Verdict

__all__ = ["TOO_MUCH_WORK", "Assumption", "Divergence", "Grade", "Verdict", "prove"]
