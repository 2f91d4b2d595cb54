"""Values that the text holds longer than the original: found at every event, however long the frame is."""

from __future__ import annotations

import random
from types import CodeType
from typing import List

import pytest
from decompile_tools import function_code

from depyf.decompiler.prove import Assumption, correspondence, prove
from depyf.decompiler.prove.correspondence import Correspondence

NAMES = ("t", "u", "v", "w")
OTHER_NAMES = str.maketrans(
    "tuvw", "pqrs"
)  # of the text: the variables of two sides with one name are compared at once
# Frees a value earlier than the original, so that from here on only values that the text holds longer are searched for.
ASSUMED = " t = g(0)\n h(t)\n k()\n t = 1\n", " t = g(0)\n h(t)\n t = 1\n k()\n"

# What the original and the text do after the value of `t` was freed early.
HELD = {
    "a variable is not emptied": ("t = g(1)\n k()\n t = 2\n k()\n k()", "t = g(1)\n k()\n k()\n t = 2\n k()"),
    "a variable is not deleted": ("t = g(1)\n k()\n del t\n k()", "t = g(1)\n k()\n k()\n del t"),
    "another variable is emptied": ("t = g(1)\n u = g(2)\n k()\n t = 3\n k()", "t = g(1)\n u = g(2)\n k()\n u = 3\n k()"),
    "a new variable keeps the operand": ("h(g(1), g(2))\n k()", "t = g(1)\n h(t, g(2))\n k()"),
    "a new variable keeps a result that is dropped": ("g(1)\n k()", "t = g(1)\n k()"),
    "the stack keeps a result that is dropped": ("g(1)\n k()\n h()", "(g(1), k())\n h()"),
    "a variable keeps what the stack gave up": ("k(g(1), h())\n k()\n h()", "k(t := g(1), h())\n k()\n h()"),
}  # fmt: skip


def _function(*statements: str) -> CodeType:
    return function_code("def f(g, h, k):\n" + "".join(statements))


@pytest.mark.parametrize("which", HELD)
def test_a_value_that_is_held_too_long_is_found_after_many_events_at_which_none_was(which: str) -> None:
    calls = "".join(f" {name} = g({number})\n h({name})\n" for number in range(20) for name in NAMES[1:])
    original, text = (f" {body}\n" for body in HELD[which])
    a = _function(ASSUMED[0], calls, original)
    same = _function(*[part.translate(OTHER_NAMES) for part in (ASSUMED[1], calls, original)])
    assert Assumption.TEMPORARIES in prove(a, same, own_names=NAMES).assumptions
    verdict = prove(a, _function(*[part.translate(OTHER_NAMES) for part in (ASSUMED[1], calls, text)]), own_names=NAMES)
    assert verdict.divergence is not None and "still holds" in verdict.divergence.event_b


def _statements(randoms: random.Random) -> List[str]:
    """Return calls, and statements without effects between them."""
    lines = []
    for number in range(randoms.randrange(6, 20)):
        name, other = randoms.choice(NAMES), randoms.choice(NAMES)
        calls = [f"{name} = g({number})", f"h({name})", f"h(g(), {name})", "k()"]
        lines.append(randoms.choice([*calls, f"{name} = {other}", f"{name} = {number}", f"{name} = {number}"]))
    return lines


def _with_one_moved(lines: List[str], randoms: random.Random) -> List[str]:
    """Return the statements with one that has no effect at another place, or none."""
    silent = [index for index, line in enumerate(lines) if "(" not in line]
    moved = list(lines)
    if silent:
        line = moved.pop(randoms.choice(silent))
        moved.insert(randoms.randrange(len(lines)), line)
    return moved


def test_a_search_for_new_values_alone_finds_the_same_as_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    randoms = random.Random(1)
    start = " " + " = ".join(NAMES) + " = 0\n"
    searched: List[bool] = []
    holds_no_more = Correspondence.holds_no_more

    def counted(self: Correspondence, *args: object) -> bool:
        searched.append(holds_no_more(self, *args))
        return searched[-1]

    monkeypatch.setattr(Correspondence, "holds_no_more", counted)
    held_too_long = 0
    for _ in range(400):
        lines = _statements(randoms)
        moved = _with_one_moved(lines, randoms)
        a = _function(start, ASSUMED[0], *[f" {line}\n" for line in lines])
        b = _function(*[part.translate(OTHER_NAMES) for part in (start, ASSUMED[1], *[f" {line}\n" for line in moved])])
        found = prove(a, b, own_names=NAMES)
        with monkeypatch.context() as every_time:
            every_time.setattr(correspondence, "_FEW", -1)
            expected = prove(a, b, own_names=NAMES)
        assert (found.grade, found.assumptions, found.divergence) == (
            expected.grade,
            expected.assumptions,
            expected.divergence,
        )
        held_too_long += found.divergence is not None and "still holds" in found.divergence.event_b
    assert held_too_long > 20 and searched.count(True) > 300, (held_too_long, searched.count(True))
