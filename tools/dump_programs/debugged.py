"""`depyf.debug()`: what the pause lists, nothing compiled meanwhile, and breakpoints that are hit in the files."""

import bdb
import glob
import os
import sys

import torch

import depyf


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


class Breakpoints(bdb.Bdb):
    def user_line(self, frame):
        if self.break_here(frame):
            where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
            print("hit", where, sorted(frame.f_locals))
        self.set_continue()


def all_lines(debugger, folder):
    """Breakpoints at every line that takes one."""
    for path in sorted(glob.glob(f"{folder}/__*.py")):
        with open(path) as file:
            count = len(file.readlines())
        for line in range(1, count + 1):
            debugger.set_break(path, line)


def paused(*args, **kwargs):
    frame = sys._getframe(1)
    print("paused; the line says:", open(frame.f_code.co_filename).readlines()[frame.f_lineno - 1].strip()[-60:])


sys.breakpointhook = paused
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    compiled = torch.compile(toy_example, backend=backend)
    with depyf.prepare_debug(f"dump/{backend}"):
        for sign in (1, -1):
            compiled(torch.ones(10, requires_grad=True), sign * torch.ones(10)).sum().backward()
    before = torch._dynamo.utils.counters["frames"]["ok"]
    with depyf.debug():
        compiled(torch.ones(10, requires_grad=True), torch.ones(10))
        compiled(torch.ones(2, 5), torch.ones(2, 5))
    print("compiled inside:", torch._dynamo.utils.counters["frames"]["ok"] - before)
    debugger = Breakpoints()
    all_lines(debugger, f"dump/{backend}")
    debugger.reset()
    sys.settrace(debugger.trace_dispatch)
    for sign in (1, -1):
        compiled(torch.ones(10, requires_grad=True), sign * torch.ones(10)).sum().backward()
    sys.settrace(None)
try:
    with depyf.prepare_debug("dump/inside"), depyf.debug():
        pass
except Exception as error:
    print(type(error).__name__, error)
