"""Lines that only the recording of a CUDA graph runs: a breakpoint there is answered, not accepted and never hit."""

from __future__ import annotations

import pytest

from depyf.errors import UserError
from depyf.line_table.folders import table_of
from depyf.record.records import GraphRecord, SessionRecord, StageRecord
from depyf.torch_hooks.stepping.asked_breakpoints import places_of
from depyf.torch_hooks.stepping.recorded_lines import RecordedLines
from depyf.torch_hooks.stepping.user_breakpoints import LineCarrier

KERNEL = """\
def partition_0(args):
    launch(args)


class Runner:
    def call(self, args):
        return partition_0(args)
"""


@pytest.fixture
def table(tmp_path):
    (tmp_path / "kernel_0.py").write_text(KERNEL)
    kernel = StageRecord("kernel", 0, "kernel_0.py", linked=True, recorded_functions=("partition_0",))
    record = SessionRecord(graphs=(GraphRecord("__compiled_fn_1", "0/0", (), (kernel,)),), files=("kernel_0.py",))
    return table_of(str(tmp_path), record)


def test_only_the_lines_of_recorded_functions_are_left_out(table, tmp_path):
    recorded = RecordedLines([table])
    assert [line for line in range(1, 8) if recorded.has(str(tmp_path / "kernel_0.py"), line)] == [1, 2]
    assert not recorded.has(str(tmp_path / "another.py"), 2)


def test_a_breakpoint_that_the_program_asks_for_there_is_refused_with_what_would_stop(table, tmp_path):
    with pytest.raises(UserError, match=r"kernel_0.py:2: it is recorded in a CUDA graph.*backend='eager'"):
        places_of("kernel_0.py:2", [table], LineCarrier([table]))
    assert places_of("kernel_0.py:7", [table], LineCarrier([table])) == ((str(tmp_path / "kernel_0.py"), 7),)
