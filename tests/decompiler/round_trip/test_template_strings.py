"""Template strings (3.14) come back as they were written: a program can read the text of their expressions."""

from __future__ import annotations

import sys

import pytest
from decompile_tools import assert_same_text

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="there are no template strings")


@pytest.mark.parametrize(
    "text",
    ["t''", "t'plain'", "t'{a}'", "t'x{a!r}y{b:>{c}}z'", "t'{a + b!s:x}{ a  +  b }'", "f'{a}' + str(t'{b()}')"],
)
def test_a_template_comes_back_as_it_was_written(text: str) -> None:
    assert_same_text(f"def f(a, b, c):\n    return {text}")
