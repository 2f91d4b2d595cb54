"""Names that no source can spell get stand-ins that it can, or the text would not compile."""

from __future__ import annotations

import keyword

import pytest

from depyf.decompiler.syntax.identifiers import shown_name, spelled

SHOWN = {
    "forward": "forward",
    "resume_in_<lambda>_at_3": "resume_in_lambda_at_3",
    "<lambda>": "function_lambda",
    "torch_dynamo_resume_in_f_at_9": "torch_dynamo_resume_in_f_at_9",
    "": "function",
    "1st": "function_1st",
    "class": "function_class",
}


@pytest.mark.parametrize("name", [".0", "@py_assert1", "class", "a-b"])
def test_a_variable_that_no_source_can_spell_gets_a_name_that_it_can(name):
    assert spelled(name).isidentifier() and not keyword.iskeyword(spelled(name))


def test_other_variables_keep_their_names():
    assert [spelled(name) for name in ("x", "_", "größe", "match")] == ["x", "_", "größe", "match"]


@pytest.mark.parametrize("name", SHOWN)
def test_a_function_always_gets_a_name_that_can_stand_after_def(name):
    shown = shown_name(name)
    compile(f"def {shown}(): pass", "<test>", "exec")
    assert shown == SHOWN[name]
