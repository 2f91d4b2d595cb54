"""Assignments to several targets come back as they were written: taking them apart would hold values longer."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved

from depyf.decompiler.prove import Grade

STATEMENTS = [
    "b, b = k(), g()",
    "a, b, b = k(), g(), h()",
    "b, b, a = k(), g(), h()",
    "z, z = x, (d := b())",
    "c, d, c = x, x, (c := a())",
    "b, c, z = x(), lambda: a, x()",
    "a, a.p = [m(), d]",
    "b, () = [x(), h()]",
    "c, (z.p,) = [x(), y()]",
    "m[x], b = [x(), y]",
    "(k(), h)[1]()",
    "[a, b][0].c()",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_value_of_an_assignment_gets_a_name_of_ours(statement: str) -> None:
    source = f"def f():\n    {statement}\n"
    found = assert_proved(source)
    assert found.source == source
    assert found.verdict.grade is Grade.PROVED
