"""A terminal shows what depyf prints of a program, and does nothing else with it."""

from __future__ import annotations

import pytest
from page_runs import EVIL, hostile_record

from depyf.record.records import FunctionRecord, RankDifference, RankView, SessionRecord, UserFile
from depyf.report import closing_summary, program_summary, rank_differences, run_differences
from depyf.report.run_differences import RunDifference

NAME = f"/home/a\nb\u202e{EVIL}.py"


def summary(whole: bool) -> str:
    return closing_summary.render(hostile_record()[0], "dump", whole=whole)


def of_processes() -> str:
    return program_summary.render(SessionRecord(), "dump", [program_summary.Process("process_1", hostile_record()[0])])


def of_runs() -> str:
    return run_differences.render([RunDifference("f", NAME, "graph", NAME, NAME)])


def of_ranks(render) -> str:
    return render((), (RankDifference("versions", "f", NAME, (RankView((0,), NAME),), f"Rank 0 alone: {NAME}"),))


@pytest.mark.parametrize(
    "text",
    [
        summary(False),
        summary(True),
        of_processes(),
        of_runs(),
        of_ranks(rank_differences.render),
        of_ranks(lambda *both: rank_differences.summary(*both, "dump")),
    ],
    ids=["summary", "whole summary", "processes", "runs", "ranks.txt", "ranks"],
)
def test_characters_that_a_terminal_acts_on_are_spelled_out(text):
    assert "\\x1b[31m" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert not any(line.startswith("b") for line in text.split("\n"))  # the rest of a name after its line end


def test_a_cell_of_a_notebook_is_called_by_its_number():
    file = "/tmp/ipykernel_7/123.py"
    function = FunctionRecord("f_0", "f", "f", file, 2, "", "missing", compiled_in_calls=1)
    record = SessionRecord(functions=(function,), user_files=(UserFile(file, "0", "In [4]"),))
    assert "(In [4]:2)" in closing_summary.render(record, "dump")
