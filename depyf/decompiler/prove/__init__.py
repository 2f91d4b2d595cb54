"""Prove: are two code objects the same program?

`prove(original, recompiled)` runs two symbolic machines side by side. It is meant to be sound: PROVED means
that no program can distinguish the two except by inspecting the code itself, line numbers, or the time and
memory it takes. It is not complete: UNPROVED and REFUTED may be wrong about codes that are the same.

How the proof works, which module holds which part, the grades and the closed list of assumptions stand in
docs/proof.md.
"""

from __future__ import annotations

from depyf.decompiler.prove.proof_attempts import prove
from depyf.decompiler.prove.verdict import Assumption, Divergence, Grade, Verdict

__all__ = ["Assumption", "Divergence", "Grade", "Verdict", "prove"]
