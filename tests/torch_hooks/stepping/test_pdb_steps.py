"""Steps of pdb, without a program that is compiled: which frames are skipped, and that all is undone."""

from __future__ import annotations

import bdb
import contextlib
import functools
import sys

import torch

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
    functools.partialmethod(print)
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
    assert set(debugger.stops) == {"program", "called_by_torch", "__init__"}  # the last is functools'


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
