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
