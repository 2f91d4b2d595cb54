"""A call over several lines can be asked about by any of them; a comment has no code."""

from __future__ import annotations

import pytest

from depyf.line_table.statement_spans import has_code, statement_at

LINES = """\
def f(x):  # 1
    # a comment
    y = layer(
        # 4

        x,
    )
    if (
        y.sum() > 0
    ):
        # 11
        y = -y
    else:
        y = y + 1
    return y
""".splitlines(keepends=True)


@pytest.mark.parametrize(
    ("line", "span"),
    [
        (1, (1, 1)),
        (3, (3, 7)),
        (4, (3, 7)),
        (5, (3, 7)),
        (9, (8, 9)),
        (12, (12, 12)),
        (2, None),
        (11, None),
        (13, None),
    ],
)
def test_the_statement_around_a_line(line, span):
    assert statement_at(LINES, line) == span


def test_lines_without_code_are_recognised():
    assert [line for line in range(1, 16) if not has_code(LINES, line)] == [2, 4, 5, 11]
    assert has_code(["def f(:\n"], 1), "no Python: nothing is claimed"
