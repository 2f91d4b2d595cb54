"""Lines of cached texts: a source whose lines have moved must not lead to the line that has the old number now."""

from __future__ import annotations

from depyf.line_table.places import Places
from depyf.record.records import Location


def at(line, code="x = x.sin()", function="f", file="m.py"):
    return Location(file, line, function, code)


def lines(places, *named):
    return {
        place.line: [(source.calls[-1].line, source.has_moved) for source in found]
        for place, found in places.resolve(named).items()
    }


def places(*stacks, is_now=False):
    return Places(stacks, lambda place: is_now)


def test_lines_that_the_captured_graph_has_are_taken_as_they_are():
    assert lines(places((at(3),), (at(5, "y"),)), at(3), at(5, "y")) == {3: [(3, False)], 5: [(5, False)]}


def test_lines_with_the_same_code_that_moved_by_one_are_not_mistaken_for_each_other():
    moved = places((at(11),), (at(12),), (at(13),))
    assert lines(moved, at(10), at(11), at(12)) == {10: [(11, True)], 11: [(12, True)], 12: [(13, True)]}


def test_a_line_whose_code_is_gone_has_no_line():
    assert lines(places((at(3),)), at(3, "x = x.cos()")) == {3: []}
    assert lines(places((at(3),)), at(7, "x = x.cos()"), at(3)) == {7: [], 3: [(3, False)]}


def test_a_line_that_no_captured_node_has_is_kept_while_the_source_has_it():
    assert lines(places((at(3),), is_now=True), at(7, "grad")) == {7: [(7, False)]}


def test_the_line_in_the_name_of_a_resume_function_moves_with_it():
    now, before = "torch_dynamo_resume_in_f_at_16", "torch_dynamo_resume_in_f_at_14"
    assert lines(places((at(18, function=now),)), at(16, function=before)) == {16: [(18, True)]}


def test_a_line_that_two_calls_reach_is_not_attributed_to_one_of_them():
    inner = at(3, function="helper")
    two = places((at(20, "helper(x)"), inner), (at(21, "helper(y)"), inner))
    (found,) = two.resolve([inner]).values()
    assert [(source.calls[0].line, source.is_sure) for source in found] == [(20, False), (21, False)]
    chosen = two.choose((at(21, "helper(y)"), inner), found)
    assert chosen.calls[0].line == 21 and chosen.is_sure
