"""The names of resume functions are read in every form that torch and the record have."""

from __future__ import annotations

import pytest

from depyf.text import resume_names


@pytest.mark.parametrize(
    ("name", "function", "line", "is_certain"),
    [
        ("torch_dynamo_resume_in_forward_at_12", "forward", 12, True),
        ("torch_dynamo_resume_in_look_at_it_at_3", "look_at_it", 3, True),
        ("torch_dynamo_resume_in_<lambda>_at_7", "<lambda>", 7, True),
        ("resume_in_forward", "forward", None, False),
        ("Model.forward resumed at line 12", "Model.forward", 12, True),
    ],
)
def test_the_function_that_is_continued_and_the_line_are_found(name, function, line, is_certain):
    assert resume_names.read(name) == (function, line, is_certain)
    assert resume_names.continued(name) == function


def test_other_names_stay_as_they_are():
    for name in ("forward", "look_at_3", "torch_dynamo_resume", ""):
        assert resume_names.read(name) is None
        assert resume_names.continued(name) == resume_names.without_line(name) == name


def test_a_line_that_moves_does_not_change_the_name():
    one, other = (resume_names.without_line(f"torch_dynamo_resume_in_f_at_{line}") for line in (3, 14))
    assert one == other == resume_names.without_line("resume_in_f") != "f"


def test_a_title_is_read_back():
    assert resume_names.read(resume_names.title("Model.forward", 12)) == ("Model.forward", 12, True)
