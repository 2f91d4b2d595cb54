"""The budget of steps of one program: what the stages may do to it before they give up.

Every stage is meant to be linear. Where hostile code makes one that is not, the budget ends it, at the same step on
every machine: no clock is read. A stage charges its loops; walks over the graph are charged where they ask for
successors.
"""

from __future__ import annotations

from depyf.decompiler.bytecode.unstructured import Unstructured

STEPS_FOR_EACH_OP = 100  # functions and modules of the standard library need 11 at most
STEPS_AT_LEAST = 10_000


class OverBudget(Unstructured):
    """A stage would need more steps than the size of the program allows."""


class WrittenTooOften(OverBudget):
    """The same code objects are made into functions in too many places."""


class Budget:
    """The steps that are left to one program."""

    __slots__ = ("left", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.left = STEPS_FOR_EACH_OP * size + STEPS_AT_LEAST

    def charge(self, steps: int = 1) -> None:
        """Take steps from the budget; raise OverBudget if it is spent."""
        self.left -= steps
        if self.left < 0:
            raise OverBudget(f"more steps than a program of {self.size} operations is given")
