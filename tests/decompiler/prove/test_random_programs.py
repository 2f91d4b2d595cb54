"""Random programs and small changes of them: those proved equal must behave equally when run."""

from __future__ import annotations

import ast
import random
import sys
import warnings

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import random_pairs

from depyf.decompiler.printer.parsed_trees import text_of
from depyf.decompiler.prove import prove


@pytest.mark.parametrize("seed", range(6))
def test_programs_that_are_proved_equal_run_the_same(seed: int) -> None:
    warnings.simplefilter("ignore")
    proved = 0
    for number in range(12):
        chance = random.Random(1000 * seed + number)
        tree = ast.parse(random_pairs.Maker(chance).function())
        a = random_pairs.compiled(tree)
        for _ in range(3):
            changed = random_pairs.mutated(tree, chance)
            b = random_pairs.compiled(changed)
            if a is None or b is None:
                continue
            verdict = prove(a, b)
            if verdict.holds:
                proved += 1
                found = random_pairs.disagreement(a, b, verdict, seeds=6)
                assert found is None, f"{text_of(tree)}\n--- and\n{text_of(changed)}\n{found}"
    assert proved > 5


def test_the_log_of_a_run_differs_for_different_programs() -> None:
    """Without this, the test above would pass vacuously."""
    a = random_pairs.compiled(ast.parse("def f(a, b, x):\n y = g(a)\n h(y)\n del y\n h(b)"))
    for wrong in ("y = g(a)\n h(y)\n h(b)\n del y", "y = g(b)\n h(y)\n del y\n h(b)", "h(g(a))\n h(b)"):
        b = random_pairs.compiled(ast.parse(f"def f(a, b, x):\n {wrong}"))
        assert random_pairs.disagreement(a, b, prove(a, a), seeds=10) is not None
