"""Attempt: one rung of the ladder tried on one code object, through all the stages in order.

decode -> clean_program -> flow -> clean_graph -> fold -> structure -> build -> printer -> recompile -> prove
"""

from __future__ import annotations

from depyf.decompiler.attempt.decompilation import Decompilation
from depyf.decompiler.attempt.request import Request
from depyf.decompiler.attempt.rung import IDIOMS, Rung
from depyf.decompiler.attempt.stage_order import Attempt

__all__ = ["IDIOMS", "Attempt", "Decompilation", "Request", "Rung"]
