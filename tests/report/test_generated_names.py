"""A word that Dynamo or depyf put into the code is explained where it occurs, and nowhere else."""

from __future__ import annotations

import pytest

from depyf.report.generated_names import terms_used


@pytest.mark.parametrize(
    "text, explained",
    [
        ("    return __resume_at_50_3([], [], x)  # after err.py:12: print(x)\n", True),
        ("    return __resume_at_50_3([], [], f(x))  # err.py:12: f(x)\n", False),
        ("    return x  # after all: 1\n", False),
    ],
)
def test_the_comment_behind_a_resume_call_is_explained(text, explained):
    assert any("# after <file>:<line>" in line for line in terms_used(text)) is explained


def test_a_self_store_is_explained_with_the_users_line_behind_it():
    cells = "    y = (lambda: x).__closure__\n"
    for line in ("    x = x\n", "    x = x  # err.py:12: x = x\n"):
        assert any("x = x:" in term for term in terms_used(cells + line))
    assert not any("x = x:" in term for term in terms_used(cells + "    x = z  # x = x\n"))


@pytest.mark.parametrize(
    "text, explained",
    [
        ("def __guard_of_0_2_for_f(x):\n", "__guard_of_0_2_for_<f>: the guards that versions share"),
        ("    shared_by_a_lambda: ...\n    return x\n", "<name>: ...: a variable that functions inside"),
    ],
)
def test_guards_of_several_versions_and_variables_without_a_value_are_explained(text, explained):
    assert any(explained in line for line in terms_used(text))
    assert not terms_used("def __guard_0_for_f(x):\n    d = {1: ...}\n")
