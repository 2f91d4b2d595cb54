"""A rung of the ladder: which liberties the stages take with one program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rung:
    """One way to write a program. Later rungs are less pretty and need less."""

    name: str
    folds_expressions: bool
    drops_locals: bool  # whether locals that the generator invented may go
    is_machine: bool = False
    flags: bool = False  # whether a variable may record how a `with` ended
    names_values: bool = False  # whether every value that the bytecode keeps on its stack gets a name


IDIOMS = Rung("idioms", True, True)
