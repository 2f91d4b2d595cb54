"""The summary of a torch that gives less than newer ones do has a line on that, and explains failures that left no other trace."""

from __future__ import annotations

import dataclasses

from depyf.record.records import FunctionRecord, Location, SessionRecord, SkipRecord, Versions
from depyf.record.vocabulary import FROM_FILE, GRAPH_BREAK
from depyf.report import closing_summary

RECORD = SessionRecord(
    versions=Versions(torch="2.2.2"), not_offered=("torch has no trace: no timings", "torch has no log: no skips")
)


def test_what_torch_cannot_give_is_one_line_on_the_terminal_and_all_of_it_in_the_file():
    line = "  torch 2.2.2 does not give 2 things that newer ones do"
    terminal, file = (closing_summary.render(RECORD, "", whole=whole).splitlines() for whole in (False, True))
    assert f"{line}: see summary.txt" in terminal and not any("no timings" in text for text in terminal)
    assert f"{line} (not_offered in manifest.json):" in file and "      torch has no trace: no timings" in file
    assert "does not give" not in closing_summary.render(dataclasses.replace(RECORD, not_offered=()), "")


def test_a_graph_break_that_is_known_from_the_failure_alone_is_explained():
    place = Location("/own/a.py", 4, "deep", 'print("no")')
    skip = SkipRecord(GRAPH_BREAK, "builtin: print", "0/0", location=place)
    function = FunctionRecord("f_0", "f", "f", "/own/a.py", 7, "", FROM_FILE, skips=(skip,))
    summary = closing_summary.render(SessionRecord(functions=(function,)), "")
    assert 'at /own/a.py:4: print("no")\n' in summary and "builtin: print" in summary
