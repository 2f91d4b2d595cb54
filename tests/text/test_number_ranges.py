"""Numbers as ranges: lines in comments and stories, ranks, lines that Dynamo never reached."""

from depyf.text.number_ranges import in_ranges, numbers_in, runs_of


def test_numbers_that_follow_one_another_are_one_range():
    assert in_ranges([3, 5, 6, 7, 9]) == "3, 5-7, 9"
    assert in_ranges([4, 5]) == "4-5" and in_ranges([]) == ""
    assert runs_of([1, 2, 8]) == [(1, 2), (8, 8)]


def test_ranges_are_read_as_they_were_written():
    numbers = [1, 2, 3, 7, 9, 10]
    assert list(numbers_in(in_ranges(numbers, ","))) == numbers


def test_what_is_no_range_is_left_out_and_a_huge_one_is_cut():
    assert list(numbers_in("x,3,-,4-")) == [3, 4]
    assert len(list(numbers_in("1-999999999"))) < 200_000
