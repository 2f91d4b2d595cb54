"""Lines that Dynamo did not come to are known, apart from those that it evaluated while tracing."""

from __future__ import annotations

import pytest
import torch

import depyf
from depyf.line_table.table import LineTable
from depyf.page.function_parts import function_part
from depyf.page.graph_parts import RowsByFile
from depyf.page.place_table import PlaceTable
from depyf.text.number_ranges import in_ranges
from depyf.torch_hooks.internals import private_hooks

needs_lines = pytest.mark.skipif(
    private_hooks.find("line_announcer") is None, reason="this torch does not announce the lines that it traces"
)


def branches(x, n):
    if n > 2:
        y = x.sin()
        k = 3
    else:
        y = x.cos()
        k = 4
    try:
        z = y * k
    except ValueError:
        z = y
    print("between")
    if n > 100:
        return z - 1
    return z + 1


def states(tmp_path, n):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump"), include_earlier=False) as context:
        torch.compile(branches, backend="eager")(torch.ones(3), n)
    record = context.record
    function = next(one for one in record.functions if one.name == "branches")
    part = function_part(record, function, RowsByFile(LineTable((), {})), PlaceTable(()), _Numbers())
    return {line - function.first_line: state for line, state in part["versions"][0]["states"].items()}


class _Numbers(dict):
    def __missing__(self, key):
        return 0


@needs_lines
def test_a_branch_that_was_not_taken_is_never_reached(tmp_path):
    found = states(tmp_path, 3)
    assert [line for line, state in found.items() if state.get("unreached")] == [5, 6, 9, 10, 13]
    assert 3 not in found  # evaluated while tracing: `k = 3` leaves nothing


@needs_lines
def test_the_other_branch_is_reached_by_the_other_version(tmp_path):
    found = states(tmp_path, 1)
    assert [line for line, state in found.items() if state.get("unreached")] == [2, 3, 9, 10, 13]


def test_lines_are_written_as_ranges():
    assert [in_ranges(lines, ",") for lines in ([], [3], [3, 4, 5, 9, 11, 12])] == ["", "3", "3-5,9,11-12"]


@needs_lines
def test_torchs_own_method_is_back_when_the_context_is_left(tmp_path):
    from torch._guards import TracingContext

    before = vars(TracingContext)["set_current_loc"]
    with depyf.prepare_debug(str(tmp_path / "dump")):
        assert vars(TracingContext)["set_current_loc"] is not before
    assert vars(TracingContext)["set_current_loc"] is before
