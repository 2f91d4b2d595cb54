"""The text of a constant is the same in every run, or two listings of the same code would differ."""

from __future__ import annotations

import subprocess
import sys

from repository import ROOT

from depyf.text.stable_repr import stable_repr

PROGRAM = "from depyf.text.stable_repr import stable_repr; print(stable_repr(frozenset({'one', 'two', 'three', 4})))"


def test_a_set_has_one_order_whatever_the_hashes_of_a_run_are():
    texts = set()
    for seed in range(4):
        environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM]
        texts.add(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert texts == {"frozenset({'one', 'three', 'two', 4})\n"}


def test_an_empty_set_and_one_of_sets_have_a_text():
    assert stable_repr(frozenset()) == "frozenset()"
    assert stable_repr(frozenset({frozenset({1})})) == "frozenset({frozenset({1})})"
