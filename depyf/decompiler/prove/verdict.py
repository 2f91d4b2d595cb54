"""The verdict of a proof: a grade, the assumptions it rests on, and the first difference found."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from types import CodeType
from typing import Tuple


class Grade(enum.Enum):
    """How far two code objects were proved to be the same program."""

    PROVED = "proved"  # no program can observe a difference
    PROVED_UNDER = "proved under assumptions"  # the same, provided that the assumptions hold
    UNPROVED = "not proved"  # the proof could not be carried out; nothing is claimed
    REFUTED = "refuted"  # a difference was found; it may be one that no run can reach


class Assumption(enum.Enum):
    """The closed list of what a proof may rest on, each as one line of English (see docs/proof.md).

    That a call, an attribute, a truth test or a hash has no effect is not on this list and never will be.
    """

    __hash__ = object.__hash__  # the hash of an Enum is Python code, and sets of these are asked at every event

    INSTALLED_GLOBALS_CONSTANT = "the globals that Dynamo installed keep their values while the frame runs"
    TEMPORARIES = (
        "nothing depends on temporaries: on the names of invented variables, or on when values that temporaries "
        "hold are released"
    )
    ITERATORS_GIVE_THEMSELVES = "what a loop goes on with is an iterator, and its `__iter__` gives itself"
    SHARED_VARIABLES_BOUND = "a variable that closures share has a value where Dynamo's code stores it into itself"
    NOT_SEEN_IN_TRACEBACKS = (
        "nothing depends on what the variables of a comprehension hold after an exception has left it"
    )
    TUPLES_BY_VALUE = "nothing asks whether two equal tuples that the frame makes are one object"
    CLOSURES_ARE_CELLS = (
        "the closures that functions are made with, where they come from elsewhere, are tuples of cells"
    )
    RELEASE_ORDER = (
        "between the same two operations, or as the frame ends, values may be released, and missing globals noticed, "
        "in another order, with other variables assigned already"
    )


@dataclass(frozen=True)
class Divergence:
    """The first place found where the two codes do different things."""

    offset_a: int  # byte offset of the operation in the original; -1 for the signature
    offset_b: int  # byte offset in the other code
    event_a: str  # what the original does there, in words
    event_b: str

    def __str__(self) -> str:
        return f"original @{self.offset_a}: {self.event_a}; recompiled @{self.offset_b}: {self.event_b}"


@dataclass(frozen=True)
class Verdict:
    """The result of a proof. Only PROVED and PROVED_UNDER let the other code replace the original."""

    grade: Grade
    assumptions: Tuple[Assumption, ...] = ()
    divergence: Divergence | None = None
    reason: str = ""  # why it is UNPROVED
    # (offset in the original, offset in the other code) of matched operations, sorted.
    pairs: Tuple[Tuple[int, int], ...] = ()
    # (of the original, of the other code): nested code objects that both make functions of at matched places.
    nested: Tuple[Tuple[CodeType, CodeType], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the two codes are the same program under the assumptions."""
        return self.grade in (Grade.PROVED, Grade.PROVED_UNDER)

    def __str__(self) -> str:
        if self.grade is Grade.PROVED_UNDER:
            return "proved, assuming that " + "; that ".join(a.value for a in self.assumptions)
        if self.grade is Grade.REFUTED:
            return f"refuted: {self.divergence}"
        return f"{self.grade.value}: {self.reason}" if self.reason else str(self.grade.value)
