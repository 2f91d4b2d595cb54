"""Lines that a reason names, and the ways to a line: what a reader opens next."""

from __future__ import annotations

from depyf.record.records import FailedGuard, Location
from depyf.report.call_chains import line_of, reached_lines

LIBRARY = "/usr/lib/python3/site-packages/lib/"
HANDED_ON = Location(LIBRARY + "model.py", 239, "MLP.forward", "hidden_states = self.c_fc(hidden_states)")
INSIDE = Location(LIBRARY + "conv.py", 113, "Conv1D.forward", "size_out = x.size()[:-1] + (self.nf,)")


def failed(about, *stack):
    return FailedGuard("0/0", f"{about} == 16", about=about, location=INSIDE, stack=stack, first_used=True)


def test_the_call_that_hands_a_tensor_to_a_library_is_named_where_that_has_another_name_for_it():
    assert line_of(failed("hidden_states.size(1)", HANDED_ON)) == HANDED_ON
    assert line_of(failed("x.size(1)", HANDED_ON)) == INSIDE
    assert line_of(failed("mask.size(1)", HANDED_ON)) is None


def test_ways_that_differ_in_their_first_call_alone_are_one_way_from_there_on():
    first, second, other = (Location("main.py", line, "main", f"model({line})") for line in (1, 2, 3))
    assert reached_lines([(first, HANDED_ON), (second, HANDED_ON), (other,)]) == [
        "reached from main.py:1: model(1)",
        "     or from main.py:2: model(2)",
        "        then lib/model.py:239: hidden_states = self.c_fc(hidden_states)",
        "reached from main.py:3: model(3)",
    ]
    assert [line[:12] for line in reached_lines([(first,), (second,)])] == ["reached from"] * 2
