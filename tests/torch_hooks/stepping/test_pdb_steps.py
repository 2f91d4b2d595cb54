"""Steps of pdb, without a program that is compiled: which frames are skipped, and that all is undone."""

from __future__ import annotations

import bdb
import colorsys
import contextlib
import io
import os
import pdb
import sys

import torch

from depyf.line_table.folders import FolderTable
from depyf.line_table.table import LineTable
from depyf.record.records import SessionRecord
from depyf.torch_hooks.stepping.attendance import Attendance
from depyf.torch_hooks.stepping.pdb_steps import PdbSteps
from depyf.torch_hooks.stepping.skipped_frames import is_skipped
from depyf.torch_hooks.stepping.user_breakpoints import LineCarrier


class Steps(bdb.Bdb):
    """Steps through a function, and keeps the names of the functions that it stopped in."""

    def __init__(self):
        super().__init__()
        self.stops = []

    def user_line(self, frame):
        self.stops.append(frame.f_code.co_name)


def called_by_torch(module, args):
    return None


def program():
    layer = torch.nn.Identity()
    layer.register_forward_pre_hook(called_by_torch)
    layer(torch.ones(1))
    colorsys.rgb_to_yiq(1, 0, 0)
    with contextlib.suppress(KeyError):
        pass


def test_steps_end_in_the_users_code_and_in_libraries_that_it_calls_but_not_in_torch():
    debugger = Steps()
    steps = PdbSteps(debugger, lambda: None)
    steps.begin()
    try:
        debugger.runcall(program)
    finally:
        steps.end()
        sys.settrace(None)
    assert set(debugger.stops) == {"program", "called_by_torch", "rgb_to_yiq"}  # the last is a library's


def callee(x):
    return x + 1


def broken(x):
    for _ in range(1):
        torch._dynamo.graph_break()  # in a loop: what follows runs as it is, and what it calls is compiled by itself
    return callee(x)


def test_a_step_from_the_users_own_frame_does_not_end_where_dynamo_saves_random_numbers():
    torch._dynamo.reset()
    debugger = Steps()
    steps = PdbSteps(debugger, lambda: None)
    steps.begin()
    try:
        debugger.runcall(torch.compile(broken, backend="eager"), torch.ones(1))
    finally:
        steps.end()
        sys.settrace(None)
    assert {"broken", "callee"} & set(debugger.stops) and not {"getstate", "setstate"} & set(debugger.stops)


def test_frames_of_no_file_are_skipped_where_torch_calls_them():
    found = []
    namespace = {"check": lambda: found.append(is_skipped(sys._getframe(1)))}
    exec("def generated(*args): check()", namespace)
    namespace["generated"]()
    torch.nn.Identity().register_forward_pre_hook(namespace["generated"])
    layer = torch.nn.Identity()
    layer.register_forward_pre_hook(namespace["generated"])
    layer(torch.ones(1))
    assert found == [False, True]


def test_a_debugger_is_left_as_it_was():
    debugger = Steps()
    debugger.user_call = lambda frame, arguments: None  # somebody's own
    before = dict(vars(debugger))
    with Attendance(lambda: LineCarrier(()), print) as attendance:
        attendance.attend(debugger)
        assert "stop_here" in vars(debugger)
    assert vars(debugger) == before


def test_a_method_that_somebody_replaced_meanwhile_is_not_put_back():
    debugger = Steps()
    with Attendance(lambda: LineCarrier(()), print) as attendance:
        attendance.attend(debugger)
        debugger.stop_here = replaced = lambda frame: False
    assert debugger.stop_here is replaced


def test_a_breakpoint_finds_a_dumped_file_by_its_name_or_from_where_the_program_runs(tmp_path, monkeypatch):
    (tmp_path / "dump").mkdir()
    file = tmp_path / "dump" / "__transformed_code_0_for_f.py"
    file.write_text("x = 1\n")
    debugger = pdb.Pdb(stdin=io.StringIO(), stdout=io.StringIO())
    carrier = LineCarrier([FolderTable(str(tmp_path / "dump"), SessionRecord(), LineTable((), {}))])
    assert debugger.lookupmodule(file.name) is None
    with Attendance(lambda: carrier, print) as attendance:
        attendance.attend(debugger)
        assert debugger.lookupmodule(file.name) == str(file)
        monkeypatch.chdir(tmp_path)
        assert debugger.lookupmodule(os.path.join("dump", file.name)) == str(file)
        assert debugger.lookupmodule("no_such_file.py") is None
    assert "lookupmodule" not in vars(debugger)
