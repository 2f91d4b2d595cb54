"""The closed sets of words in a record: a word that two modules spell could be spelled in two ways."""

from __future__ import annotations

import ast
import sys
from typing import get_args

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

from depyf.decompiler.prove import Grade  # noqa: E402
from depyf.record import vocabulary  # noqa: E402
from depyf.record.records import SKIP_KINDS  # noqa: E402

WORDS = {name: word for name, word in vars(vocabulary).items() if name.isupper() and isinstance(word, str)}
# Words that are common names of other things, too.
AMBIGUOUS = {"file", "decompiled", "missing", "kernel", "autotuning", "forward", "backward", "inference", "disabled"}
AMBIGUOUS |= {"disassembly", "generator", "failed", "other", "candidate", "graph break", "name"}
USERS = [
    name
    for name in house.modules()
    if name.startswith(("depyf.record", "depyf.report", "depyf.torch_hooks")) and name != "depyf.record.vocabulary"
]


@pytest.mark.parametrize("name", USERS)
def test_a_word_of_the_record_is_spelled_in_one_module(name):
    tree = ast.parse(house.modules()[name].read_text(encoding="utf-8"))
    spelled = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert spelled & (set(WORDS.values()) - AMBIGUOUS) == set()


def test_the_types_of_a_record_hold_exactly_the_words_of_their_set():
    assert set(get_args(vocabulary.Installed)) == {WORDS[name] for name in ("REPLACED", "RELABELLED", "UNTOUCHED")}
    origins = {WORDS[name] for name in ("FROM_FILE", "DECOMPILED", "LISTED", "FROM_LOG", "MISSING")}
    assert set(get_args(vocabulary.SourceOrigin)) == origins


def test_each_kind_of_skip_has_an_explanation_and_each_proved_grade_is_one_of_the_prover():
    assert set(SKIP_KINDS) <= set(WORDS.values())
    assert {*vocabulary.PROVED_GRADES, vocabulary.UNPROVED} <= {grade.name for grade in Grade}
