"""The frame of the verifier: how deep its stack is, what the entries may be, and what the variables' slots may hold.

Most entries are objects of whatever type. Only the others are kept, as a linked list, so that states of many places
share what is below: (position from the bottom, kind, the list below), or None.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Optional, Sequence, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import NULL_SECOND
from depyf.decompiler.decode.code_layout import Layout, fail
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.stack_kinds import ANY, MOVED, NO_OBJECTS, NULL, OF_LOOP, in_words
from depyf.decompiler.decode.variable_slots import Slots

Special = Optional[Tuple[int, int, Any]]
# What is known before an instruction: the depth, the special entries, what the slots may hold (variable_slots.py).
State = Tuple[int, Special, int]
MOST_STEPS = 200  # down the list of special entries, for each instruction on average


class Operand(NamedTuple):
    """What an instruction needs of one operand: `is_sure` if it can be nothing else, else that it may be that."""

    position: int  # from the top; 1 is the top
    kind: int
    is_sure: bool


class AbstractFrame:
    """The state where the verifier is now."""

    __slots__ = (
        "block", "depth", "floor", "has_changed", "has_sunk", "held", "layout", "null_is_first", "slots", "special",
        "steps",
    )  # fmt: skip

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.slots = Slots(layout.code, layout.facts)
        self.null_is_first = layout.facts.call_layout != NULL_SECOND
        self.depth = 0
        self.special: Special = None
        self.held = self.slots.at_entry
        self.floor = 0  # the depth that the handler in charge keeps
        self.has_changed = False  # whether that handler may find a state that it has not been given
        self.block = -1  # the instruction that opened the innermost block, where that block may sink
        self.has_sunk = False
        self.steps = MOST_STEPS * len(layout.instructions)

    def guard(self) -> int:
        """Return the depth down to which all entries are objects that no handler keeps."""
        special = self.special
        return self.floor if special is None or special[0] < self.floor else special[0] + 1

    def push(self, kind: int) -> None:
        """Push an entry."""
        if kind != ANY:
            self.special = (self.depth, kind, self.special)
        self.depth += 1

    def pop(self, raw: Raw, count: int) -> None:
        """Drop the top entries, which must be objects."""
        depth = self.depth - count
        if depth < self.floor:
            self.sink(raw, count)
        special = self.special
        while special is not None and special[0] >= depth:
            if special[1] & NO_OBJECTS:
                fail(raw, f"takes {'NULL' if special[1] & NULL else in_words(special[1] & NO_OBJECTS)} for an object")
            special = special[2]
        self.special, self.depth = special, depth

    def drop(self, count: int) -> None:
        """Drop entries of any kind; there are enough."""
        self.depth -= count
        special = self.special
        while special is not None and special[0] >= self.depth:
            special = special[2]
        self.special = special

    def change(self, raw: Raw, pops: int, pushes: Sequence[int]) -> None:
        """Pop, then push."""
        if pops:
            self.pop(raw, pops)
        for kind in pushes:
            self.push(kind)

    def kind_at(self, position: int) -> int:
        """Return the kind of the entry at a position from the top."""
        place, special = self.depth - position, self.special
        while special is not None and special[0] > place:
            special = special[2]
            self.steps -= 1
        if self.steps < 0:
            raise Malformed("too many stack entries have to be followed")
        return special[1] if special is not None and special[0] == place else ANY

    def swap(self, position: int) -> None:
        """Exchange the top with the entry at a position from the top."""
        place = self.depth - position
        top, other = _moved(self.kind_at(1)), _moved(self.kind_at(position))
        if place < self.floor:
            self.has_changed = True
        between, special = [], self.special
        while special is not None and special[0] >= place:
            if place < special[0] < self.depth - 1:
                between.append(special)
            special = special[2]
        self.special, self.depth = special, place
        self.push(top)
        for entry in reversed(between):
            self.special = (entry[0], entry[1], self.special)
        self.depth = place + position - 1
        self.push(other)

    def need(self, raw: Raw, depth: int) -> None:
        """Raise Malformed if the stack holds fewer entries."""
        if self.depth < depth:
            fail(raw, f"needs {depth} values, and the stack holds {self.depth}")

    def sink(self, raw: Raw, count: int) -> None:
        """Take entries that the innermost block was to keep: its handler finds fewer. Raise Malformed if it may not."""
        depth = self.depth - count
        if self.block < 0 or depth < 0:
            self.underflow(raw, count)
        self.layout.sink(self.block, depth)
        self.floor = depth
        self.has_sunk = self.has_changed = True

    def underflow(self, raw: Raw, count: int) -> NoReturn:
        """Raise Malformed about an instruction that takes too many entries."""
        kept = f", of which its handler keeps {self.floor}" if self.depth >= count else ""
        fail(raw, f"takes {count} values from a stack of {self.depth}{kept}")

    def check(self, raw: Raw, operands: Sequence[Operand]) -> None:
        """Raise Malformed if an operand is not of the kind that the instruction relies on."""
        for position, kind, is_sure in operands:
            self.need(raw, position)
            found = self.kind_at(position)
            if found & NULL or not found & kind or (is_sure and found & ~kind):
                fail(raw, f"finds {in_words(found)} where it relies on {in_words(kind)}")


def _moved(kind: int) -> int:
    """Return the kind of an entry in another place: an iterator and its index belong together only side by side."""
    return kind | MOVED if kind & OF_LOOP else kind


def joined(known: Special, other: Special) -> Special:
    """Return the special entries of a state that covers both; `known` itself where it does."""
    entries = []
    one, two = known, other
    while one is not two:
        if two is None or (one is not None and one[0] > two[0]):
            assert one is not None
            entries.append((one[0], one[1] | ANY))
            one = one[2]
        elif one is None or two[0] > one[0]:
            entries.append((two[0], two[1] | ANY))
            two = two[2]
        else:
            entries.append((one[0], one[1] | two[1]))
            one, two = one[2], two[2]
    for place, kind in reversed(entries):
        if kind != ANY:
            one = (place, kind, one)
    return known if _same(known, one) else one


def _same(one: Special, two: Special) -> bool:
    while one is not two:
        if one is None or two is None or one[:2] != two[:2]:
            return False
        one, two = one[2], two[2]
    return True
