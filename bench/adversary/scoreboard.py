"""Count judgements and print them."""

from __future__ import annotations

import collections
from typing import Any, Dict, List

from bench.adversary.judgement import Judgement
from bench.adversary.minimised import class_of


def judgement_of(saved: Dict[str, Any]) -> Judgement:
    """Return a judgement from its saved form."""
    lists = {name: tuple(saved[name]) for name in ("assumptions", "kinds", "bugs")}
    return Judgement(**{**saved, **lists})


CLASSES = 40  # to print of each section
SMALL = 1000  # instructions that never take more than a second of CPU
EXAMPLES = 3  # to print of each class of failing mutants


class Scoreboard:
    """The counts of a run."""

    def __init__(self) -> None:
        self.total = 0
        self.has_mutants = False
        self.counts: collections.Counter[str] = collections.Counter()
        self.identical = 0
        self.failures: Dict[str, List[Judgement]] = {}
        self.unproved: Dict[str, List[Judgement]] = {}
        self.assumed: Dict[str, List[Judgement]] = {}
        self.named: collections.Counter[str] = collections.Counter()
        self.bugs: collections.Counter[str] = collections.Counter()
        self.slow: List[Judgement] = []
        self.seconds = 0.0

    def add(self, judgement: Judgement) -> None:
        """Count one judgement."""
        self.total += 1
        self.has_mutants |= bool(judgement.mutation)
        under = f" under {', '.join(judgement.assumptions)}" if judgement.assumptions else ""
        self.counts[judgement.grade + under] += 1
        self.identical += judgement.is_identical
        self.seconds += judgement.seconds
        if judgement.seconds > 1:
            self.slow.append(judgement)
        for bug in judgement.bugs[:1]:
            self.bugs[bug.split(" object at ")[0][:100]] += 1
        if judgement.failed or judgement.grade in ("CRASH", "HANG"):
            self.failures.setdefault(class_of(judgement), []).append(judgement)
        elif judgement.kinds:
            self.named["; ".join(judgement.kinds) + under] += 1
        elif judgement.assumptions:
            self.assumed.setdefault(class_of(judgement), []).append(judgement)
        elif not judgement.grade.startswith("PROVED") and not (judgement.mutation and judgement.grade == "REFUTED"):
            self.unproved.setdefault(class_of(judgement), []).append(judgement)

    def lines(self) -> List[str]:
        """Return the scoreboard as lines."""
        total = max(1, self.total)
        lines = [f"{count:8} {100 * count / total:6.2f} %  {name}" for name, count in self.counts.most_common()]
        lines.append(f"{self.identical:8} {100 * self.identical / total:6.2f} %  the same bytecode, not run")
        lines += section("not proved, though not refuted" if self.has_mutants else "not proved", self.unproved)
        if self.named:
            lines += ["differences that an assumption names:"]
            lines += [f"{count:8}  {name}" for name, count in self.named.most_common()]
        if self.bugs:
            lines += ["exceptions inside the stages:"]
            lines += [f"{count:8}  {name}" for name, count in self.bugs.most_common(20)]
        for judgement in sorted(self.slow, key=lambda one: one.instructions)[:10]:
            size, what = judgement.instructions, judgement.mutation[:100]
            lines.append(f"over 1 s of CPU: {judgement.number}, {judgement.seconds:.1f} s, {size} instructions {what}")
        lines += section("FAILURES", self.failures)
        if self.has_mutants:
            lines += examples(self.failures)
        failed = sum(len(found) for found in self.failures.values())
        proved = 100 * self.counts["PROVED"] / total
        small = sum(one.instructions <= SMALL for one in self.slow)
        lines.append(
            f"{self.total} judged: proved without assumption {proved:.2f} %, "
            f"not proved {100 * sum(len(found) for found in self.unproved.values()) / total:.2f} %, "
            f"failures {failed}, over 1 s {len(self.slow)}, of these up to {SMALL} instructions {small}, "
            f"{self.total / max(self.seconds, 0.001):.0f} per CPU second"
        )
        return lines


def examples(classes: Dict[str, List[Judgement]]) -> List[str]:
    """Return some mutants of each class of failures, the smallest first."""
    lines = []
    for name, found in classes.items():
        lines.append(f"--- {name}")
        for one in sorted(found, key=lambda judgement: judgement.instructions)[:EXAMPLES]:
            lines.append(f"    function {one.number}, {one.mutation}")
            lines += [f"        {one.shown}"] if one.shown else []
    return lines


def section(title: str, classes: Dict[str, List[Judgement]]) -> List[str]:
    """Return the classes of judgements, the most frequent first, each with the numbers of the smallest functions."""
    lines = [f"{title}:"] if classes else []
    for name, found in sorted(classes.items(), key=lambda item: -len(item[1]))[:CLASSES]:
        smallest = sorted(found, key=lambda one: one.instructions)[:4]
        lines.append(f"{len(found):8}  {name}  [{', '.join([str(one.number) for one in smallest])}]")
    return lines
