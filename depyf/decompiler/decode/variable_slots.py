"""What the slots of a frame's variables may hold while it runs: nothing, a value, or a cell.

The state of all slots is one int with three bits for each, so that where two paths join it is their `|`. Whether a slot
holds a value or a cell is tracked only for variables that are cells somewhere, and whether it holds anything only where
instructions rely on it.
"""

from __future__ import annotations

from types import CodeType
from typing import Container, Dict, FrozenSet, Tuple

from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import parameter_count
from depyf.decompiler.bytecode.python_facts import PythonFacts
from depyf.decompiler.decode.code_layout import fail
from depyf.decompiler.decode.instructions import Raw
from depyf.decompiler.decode.stack_kinds import ANY, CELL, MAYBE_NULL, NO_CELL, NULL


class Slots:
    """The slots of one code object: locals, then cells that are no locals, then free variables."""

    __slots__ = (
        "apart",
        "at_entry",
        "cell_uses",
        "cells",
        "free",
        "must_be_bound",
        "names",
        "namesakes",
        "plain",
        "size",
    )

    def __init__(self, code: CodeType, facts: PythonFacts) -> None:
        names, cells, free = code.co_varnames, code.co_cellvars, code.co_freevars
        self.apart = -1  # how many cells and free variables there are, if they are numbered apart from locals
        self.must_be_bound = facts.local_loads_are_unchecked
        self.names = names
        self.size = len(names)
        self.plain: Container[int] = range(self.size)  # those that never hold a cell
        self.cells: FrozenSet[int] = frozenset()  # those that may
        self.free: FrozenSet[int] = frozenset()
        self.namesakes: FrozenSet[int] = frozenset()
        self.cell_uses: Dict[Tuple[int, int, str], bool] = {}  # what each instruction found in a slot that may hold one
        if len(set(names)) != self.size or len({*cells, *free}) != len(cells) + len(free):
            raise Malformed("two variables have the same name, and micro-ops name variables")
        if facts.cells_are_numbered_apart:
            self.apart = len(cells) + len(free)
        elif cells or free:
            local, shared = set(names), {*cells, *free}
            own = names + tuple([name for name in cells if name not in local])
            self.names = own + free
            self.size = len(self.names)
            self.free = frozenset(range(len(own), self.size))
            # The variable of an inlined comprehension may have the name of a free variable, and a slot of its own.
            # Micro-ops treat it as one variable, whose cell is put aside.
            self.namesakes = frozenset([slot for slot, name in enumerate(names) if name in shared.difference(cells)])
            self.cells = self.free.union([slot for slot, name in enumerate(own) if name in shared])
            self.plain = frozenset(range(self.size)) - self.cells
        self.at_entry = self._at_entry(parameter_count(code)) if self.must_be_bound or self.cells else 0

    def _at_entry(self, parameter_count: int) -> int:
        """Return the state at entry. Bits from 0 on: may be empty; from `size` on: a value; from twice that: a cell."""
        bound = (1 << parameter_count) - 1
        state = ((1 << self.size) - 1) ^ bound | bound << self.size
        if not self.must_be_bound:  # loads test for themselves
            state &= sum([1 << slot | 1 << self.size + slot for slot in self.cells])
        for slot in self.namesakes:
            state = self.stored(state, slot, CELL)
        return state

    def check(self, raw: Raw, slot: int) -> None:
        """Raise Malformed if there is no such slot."""
        if slot >= self.size:
            fail(raw, f"uses variable {slot} of {self.size}")

    def loaded(self, raw: Raw, held: int, slot: int, is_checked: bool = False) -> int:
        """Return the kind of what is in a slot; Malformed if the slot may be empty and the load does not test that."""
        self.check(raw, slot)
        if self.must_be_bound and held >> slot & 1 and not is_checked:
            fail(raw, f"reads {self.names[slot]} where it may have no value, and does not test that")
        if slot not in self.cells:
            return ANY
        kind = self.kind(raw, held, slot)
        if kind == CELL and slot in self.namesakes:
            fail(raw, f"reads {self.names[slot]} where it has no value")
        self.note(raw, slot, "LOAD_LOCAL", kind == CELL)
        return kind

    def note(self, raw: Raw, slot: int, what: str, is_cell: bool) -> None:
        """Record whether an instruction acts on a cell; Malformed if that differs between paths."""
        if self.cell_uses.setdefault((raw.offset, slot, what), is_cell) is not is_cell:
            fail(raw, f"finds a cell for {self.names[slot]} on one path and none on another")

    def taken(self, raw: Raw, held: int, slot: int) -> int:
        """Return the kind that LOAD_FAST_AND_CLEAR pushes."""
        self.check(raw, slot)
        if slot not in self.cells:
            return MAYBE_NULL
        kind = self.kind(raw, held, slot)
        self.note(raw, slot, "LOAD_LOCAL_AND_CLEAR", kind == CELL)
        return kind if kind == CELL else MAYBE_NULL

    def kind(self, raw: Raw, held: int, slot: int) -> int:
        """Return CELL or NO_CELL for the slot of a variable that is a cell somewhere."""
        is_value, is_cell = held >> self.size + slot & 1, held >> 2 * self.size + slot & 1
        if is_cell and (is_value or held >> slot & 1):
            fail(raw, f"finds a cell in {self.names[slot]} on one path and none on another")
        return CELL if is_cell else NO_CELL

    def may_hold_cell(self, held: int, slot: int) -> bool:
        """Return whether there is a cell in a slot on some path."""
        return bool(held >> 2 * self.size + slot & 1)

    def check_cell(self, raw: Raw, held: int, slot: int) -> None:
        """Raise Malformed unless there is a cell in the slot."""
        if self.apart >= 0:
            if slot >= self.apart:
                fail(raw, f"uses cell {slot} of {self.apart}")
            return
        self.check(raw, slot)
        if slot not in self.cells or slot in self.namesakes or self.kind(raw, held, slot) != CELL:
            fail(raw, f"finds no cell in {self.names[slot]}")

    def stored(self, held: int, slot: int, kind: int) -> int:
        """Return the state after an entry of a kind was stored into a slot, or, with NULL, the slot was emptied."""
        if self.must_be_bound or slot in self.cells:
            held = held | 1 << slot if kind & NULL else held & ~(1 << slot)
        if slot in self.cells:
            value, cell = 1 << self.size + slot, 1 << 2 * self.size + slot
            held &= ~(value | cell)
            if kind != NULL:
                held |= cell if kind == CELL else value
        return held

    def with_free_cells(self, held: int) -> int:
        """Return the state after COPY_FREE_VARS."""
        for slot in self.free:
            held = self.stored(held, slot, CELL)
        return held
