"""Compare two logs, and name the kinds of difference between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, List, Optional

from bench.adversary.world import Entry

OPERATIONS = "other operations"
RESULT = "another result"
EXCEPTION = "another exception"
MISSING_NAME = "another missing name in a NameError"
NAMES = "other values of local names"
NAMES_IN_TRACEBACK = "other values of local names in a traceback"
EARLIER = "a death comes earlier"
LATER = "a death comes later"
LATER_BY_ONE = "a death comes one operation later"
LATER_AFTER_EXCEPTION = "a death comes later, after an exception"
AT_RETURN = "a death moves across the return"
ORDER = "deaths between the same two operations in another order"
AT_MISSING_NAME = "a death moves across a NameError"
ORDER_AT_RETURN = "deaths in another order, as the frame returns"
ORDER_AFTER_EXCEPTION = "deaths in another order, where an exception has left the frame"
CRASH = "one of the two crashes"

# Which kinds of difference each assumption of the prover names (docs/proof.md). All others are failures.
NAMED: Dict[str, FrozenSet[str]] = {
    "INSTALLED_GLOBALS_CONSTANT": frozenset(),
    # Also the order: what a temporary holds as well as a variable dies when the last of both is released.
    "TEMPORARIES": frozenset(
        {EARLIER, LATER_BY_ONE, LATER, LATER_AFTER_EXCEPTION, AT_RETURN, AT_MISSING_NAME}
        | {ORDER, ORDER_AT_RETURN, ORDER_AFTER_EXCEPTION}
    ),
    "ITERATORS_GIVE_THEMSELVES": frozenset({OPERATIONS, CRASH}),  # FOR_ITER crashes on what is no iterator
    "SHARED_VARIABLES_BOUND": frozenset(),
    "NOT_SEEN_IN_TRACEBACKS": frozenset(
        {NAMES_IN_TRACEBACK, EARLIER, LATER_AFTER_EXCEPTION, AT_MISSING_NAME, ORDER_AFTER_EXCEPTION}
    ),
    "TUPLES_BY_VALUE": frozenset(),
    # What is no cell crashes the function that is made over it; the type of functions raises TypeError.
    "CLOSURES_ARE_CELLS": frozenset({OPERATIONS, EXCEPTION, CRASH}),
    "RELEASE_ORDER": frozenset(
        {ORDER, ORDER_AT_RETURN, ORDER_AFTER_EXCEPTION, AT_RETURN, MISSING_NAME, AT_MISSING_NAME}
    ),
}
# Entries of the harness; all others are operations, and end with the exception that was being handled.
OF_HARNESS = frozenset(
    ["returns", "raises", "traceback", "names", "cell", "global", "yields", "stops", "waits", "left", "throws",
     "rebinds", "calls", "steps", "operations", "raised", "unraisable", "result dropped", "traceback cleared"]
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Where two logs differ first, and all kinds of difference between them."""

    kinds: FrozenSet[str]
    at: int
    left: Any
    right: Any

    def is_named_by(self, assumptions: Iterable[str]) -> bool:
        """Return whether the assumptions name all kinds of this difference."""
        named: FrozenSet[str] = frozenset()
        for assumption in assumptions:
            named |= NAMED.get(assumption, frozenset())
        return self.kinds <= named


def difference(left: List[Entry], right: List[Entry]) -> Optional[Difference]:
    """Return the difference between two logs, or None."""
    if left == right:
        return None
    shorter = min(len(left), len(right))
    at = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    a, b = (log[at] if at < len(log) else ("end",) for log in (left, right))
    return Difference(kinds_of(left, right), at, a, b)


def kinds_of(left: List[Entry], right: List[Entry]) -> FrozenSet[str]:
    """Return the kinds of difference between two logs."""
    ours, theirs = ([entry for entry in log if entry[0] != "dies"] for log in (left, right))
    if ours == theirs:
        return frozenset(kinds_of_deaths(left, right))
    shorter = min(len(ours), len(theirs))
    at = next((n for n in range(shorter) if ours[n] != theirs[n]), shorter)
    a, b = (log[at] if at < len(log) else ("end",) for log in (ours, theirs))
    return frozenset({kind_of(a, b)})


def kind_of(a: Entry, b: Entry) -> str:
    """Return the kind of the first difference that is no death."""
    if a[0] != b[0]:
        return OPERATIONS
    if a[0] == "raises":
        both_names = all(str(entry[1][0]).startswith(("NameError", "UnboundLocalError")) for entry in (a, b))
        return MISSING_NAME if both_names else EXCEPTION
    return {
        "returns": RESULT, "names": NAMES, "traceback": NAMES_IN_TRACEBACK, "cell": RESULT, "global": RESULT,
        "yields": RESULT, "stops": RESULT,
    }.get(a[0], OPERATIONS)  # fmt: skip


def kinds_of_deaths(left: List[Entry], right: List[Entry]) -> Iterable[str]:
    """Yield how deaths moved in two logs that are the same without them."""
    ours, theirs = positions(left), positions(right)
    entries = [entry for entry in left if entry[0] != "dies"]
    moved = False
    for label in {**ours, **theirs}:
        a, b = ours.get(label, len(entries)), theirs.get(label, len(entries))
        if a == b:
            continue
        moved = True
        between = entries[min(a, b) : max(a, b)]
        if [entry[0] for entry in between] == ["returns"]:
            yield AT_RETURN
        elif between[0][0] == "raises" and str(between[0][1][0]).startswith("NameError"):
            yield AT_MISSING_NAME
        elif b < a:
            yield EARLIER
        elif is_after_exception(entries, a):
            yield LATER_AFTER_EXCEPTION
        else:
            yield LATER_BY_ONE if b == a + 1 else LATER
    if not moved:
        yield from kinds_of_order(left, right)


def kinds_of_order(left: List[Entry], right: List[Entry]) -> Iterable[str]:
    """Yield where deaths come in another order: as the frame returns, after an exception has left it, or before."""
    cleared = False
    for n, (a, b) in enumerate(zip(left, right)):
        cleared = cleared or a[0] == "traceback cleared"
        if a != b:
            after = next((entry[0] for entry in left[n:] if entry[0] != "dies"), "")
            yield ORDER_AFTER_EXCEPTION if cleared else ORDER_AT_RETURN if after in ("returns", "stops") else ORDER


def is_after_exception(entries: List[Entry], at: int) -> bool:
    """Return whether an exception is raised, or is being handled, at a place of a log."""
    before, after = entries[max(0, at - 1)], entries[min(at, len(entries) - 1)]
    return before[0] == "raised" or after[0] == "raises" or bool(after[0] not in OF_HARNESS and after[-1])


def positions(log: List[Entry]) -> Dict[str, int]:
    """Return how many entries that are no deaths come before the death of each object."""
    found: Dict[str, int] = {}
    count = 0
    for entry in log:
        if entry[0] == "dies":
            found[entry[1]] = count
        else:
            count += 1
    return found
