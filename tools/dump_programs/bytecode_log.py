"""`install()` and `uninstall()`: the decompiled source in torch's bytecode log."""

import logging
import re

import torch
from torch._dynamo.convert_frame import bytecode_log

import depyf


def breaking(x, n):
    y = x.sin() * n
    torch._dynamo.graph_break()
    return [y + k for k in range(n)], {"n": n}


def make(shift):
    def inner(x):
        nonlocal shift
        shift = shift + x
        return shift

    return inner


def run():
    torch._dynamo.reset()
    torch.compile(breaking, backend="eager")(torch.ones(3), 2)
    torch.compile(make(torch.ones(3)), backend="eager")(torch.ones(3))


def show(record):
    message = record.getMessage()
    if "DECOMPILED" in message:
        print(re.sub(r"(__compiled_fn_\d+)_[0-9a-f_]{36}", r"\1", message))  # torch's names are unique


handler = logging.Handler()
handler.emit = show
bytecode_log.setLevel(logging.DEBUG)
bytecode_log.addHandler(handler)
depyf.install()
depyf.install()
run()
depyf.uninstall()
depyf.uninstall()
print("uninstalled")
run()
