"""Random patterns of the `match` statement, as text."""

from __future__ import annotations

import random
from typing import List

CLOSED = ("1", "-1", "'s'", "None", "True", "1.5", "x.p", "x.p.q", "b'y'", "1 + 2j")


class RandomPatterns:
    """Make random patterns. Each binds every name at most once."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def case(self, free: List[str]) -> str:
        """Return a pattern that can fail to match; `free` are the names that it may bind."""
        kind = self.chance.randrange(9)
        if kind == 0:
            return self.chance.choice(CLOSED)
        if kind == 1:
            return " | ".join(self.chance.sample(CLOSED, self.chance.randint(2, 3)))
        if kind in (2, 3):
            return self.sequence(free)
        if kind == 4:
            return self.mapping(free)
        if kind in (5, 6):
            return self.of_class(free)
        if kind == 7 and free:
            name = free.pop()
            return f"({self.case(free)}) as {name}"
        return self.alternatives(free)

    def inner(self, free: List[str]) -> str:
        """Return a pattern inside another: it may be irrefutable."""
        kind = self.chance.randrange(6)
        if kind == 0:
            return self.chance.choice(["_", "_", "(1 | _)"])
        if kind in (1, 2) and free:
            return free.pop()
        if kind == 3:
            return self.chance.choice(CLOSED)
        return f"({self.case(free)})"

    def sequence(self, free: List[str]) -> str:
        """Return a sequence pattern, with or without a star."""
        parts = [self.inner(free) for _ in range(self.chance.randint(0, 3))]
        if self.chance.random() < 0.35:
            star = f"*{free.pop()}" if free and self.chance.random() < 0.6 else "*_"
            parts.insert(self.chance.randint(0, len(parts)), star)
        return f"[{', '.join(parts)}]"

    def mapping(self, free: List[str]) -> str:
        """Return a mapping pattern."""
        keys = self.chance.sample(["1", "'k'", "x.p", "None"], self.chance.randint(0, 2))
        parts = [f"{key}: {self.inner(free)}" for key in keys]
        if free and self.chance.random() < 0.3:
            parts.append(f"**{free.pop()}")
        return "{" + ", ".join(parts) + "}"

    def of_class(self, free: List[str]) -> str:
        """Return a class pattern."""
        parts = [self.inner(free) for _ in range(self.chance.randint(0, 2))]
        if self.chance.random() < 0.4:
            parts.append(f"r={self.inner(free)}")
        return f"{self.chance.choice(['Kind', 'Kind', 'int', 'str'])}({', '.join(parts)})"

    def alternatives(self, free: List[str]) -> str:
        """Return alternatives that bind the same names."""
        if self.chance.random() < 0.5 or not free:
            last = self.chance.choice(["[1, _]", "Kind()", "{}", "2"])
            return f"{self.chance.choice(CLOSED)} | {last}"
        name = free.pop()
        forms = [f"[{name}]", f"Kind({name})", f"{{'k': {name}}}", f"[1, {name}]", f"(1 | 2) as {name}"]
        return "(" + ") | (".join(self.chance.sample(forms, 2)) + ")"
