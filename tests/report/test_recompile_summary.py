"""Why a function was compiled again: versions that stand together have one cause."""

from __future__ import annotations

from depyf.record.records import ChangedValue, FailedGuard, FrameRecord, FunctionRecord, SessionRecord
from depyf.report.recompile_summary import recompile_blocks


def version(number, first, other):
    """Return a version compiled because of `first`, where `other` differs as well."""
    failed = FailedGuard(
        f"0/{number - 1}",
        f"{first} == 1",
        about=first,
        now="2",
        also=(ChangedValue(other, f"{other} == 1", "1", "2"),),
    )
    return FrameRecord(f"0/{number}", "f_0", number, f"{number}.py", "", "replaced", "PROVED", failed_guards=(failed,))


def test_a_version_stands_below_likewise_only_where_the_same_value_is_its_cause():
    function = FunctionRecord("f_0", "f", "f", "train.py", 1, "", "file")
    first = FrameRecord("0/0", "f_0", 0, "0.py", "", "replaced", "PROVED")
    again = [version(number, "self.k", "n") for number in range(1, 7)] + [version(7, "n", "self.k")]
    (block,) = recompile_blocks(SessionRecord(functions=(function,), frames=(first, *again)), True)
    likewise = [line for line in block if " likewise: " in line]
    assert likewise and all("needs self.k == 1" in line for line in likewise)
    assert any("0/7 because 0/6 needs n == 1" in line for line in block)


REST = "def rest(__nested_frame_values, ___stack0, x):\n    {}\n    return y + x\n"


def test_a_value_without_a_name_is_the_variable_that_the_rest_of_the_function_makes_of_it():
    first = FrameRecord("0/0", "f_0", 0, "0.py", "", "replaced", "PROVED")
    again = version(1, "x.size(0)", "___stack0.size(0)")

    def explained(statement):
        function = FunctionRecord("f_0", "f", "f", "train.py", 1, REST.format(statement), "file")
        (block,) = recompile_blocks(SessionRecord(functions=(function,), frames=(first, again)), True)
        return [line.strip() for line in block if line.strip().startswith("___stack")]

    assert explained("y = ___stack0") == ["___stack0 is y"]
    (words,) = explained("y, z = ___stack0")
    assert words.startswith("___stack<i>: a value that had no name at the graph break")
